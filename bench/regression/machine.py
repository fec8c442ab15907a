"""What a time was measured on, without saying whose machine it is."""

import os
import platform


def describe():
    """{processor, processors, memory_gib, system}: what decides whether two nights' times may be compared."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.machine(),
        "processors": os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release()}",
    }


def load():
    """Processes that wanted to run during the last minute; what is above 0 when a night begins makes noise."""
    return round(os.getloadavg()[0], 2)


def _field(path, name):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                key, _, value = line.partition(":")
                if key.strip() == name:
                    return value.strip()
    except OSError:
        pass
    return None
