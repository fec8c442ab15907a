"""Files that appear whole or not at all."""

import os
import tempfile

from .errors import BadInput


def write_whole(path, content):
    """Replaces `path` (a symbolic link's target) by the text or bytes `content`; at every moment the old or the new file is there."""
    path = os.path.realpath(path)
    data = content if isinstance(content, bytes) else content.encode()
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=os.path.dirname(path))
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from error


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
