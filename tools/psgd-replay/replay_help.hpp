#pragma once

#include <string_view>

namespace psgd::tools::replay {

inline constexpr std::string_view help_summary =
    "Replays PowerSGD gradient compression on a recorded dump (layout v1, one file or one a process rank) as "
    "PyTorch's\n"
    "communication hooks would have run it, and reports what it loses. The replay is open-loop: the gradients come "
    "from\n"
    "the trajectory that was recorded, not from one trained with this compression.\n\n"
    "A rank is the matrix approximation rank; the members of a job are process ranks.";

inline constexpr std::string_view help_schema =
    "Results: a summary, a table of parameters and the hazards on standard output. --json writes one object:\n"
    "  schema \"psgd-replay\", version 1; complete: false when interrupted; notice; config: every option;\n"
    "  dump: files, world_size, process_ranks, steps, parameters, numel, dtype;\n"
    "  summary: compression_stats [rate, before, after]; relative_error {mean, median, max} of compressed records;\n"
    "    relative_error_whole_model {mean, median, max} over steps; seconds_per_step (median of compressed steps, "
    "reading\n"
    "    and upload excluded), seconds_read, seconds_upload, seconds_total;\n"
    "    hazards [{kind, step, parameter, process_rank, value, count, text}];\n"
    "  columns, records: a row per step and parameter, as in --csv; bucket_columns, bucket_records: per step and "
    "bucket.\n"
    "  Norms are Frobenius norms. relative_error: |averaged - mean gradient| / |mean gradient|. residual_norm_rank<k>: "
    "process\n"
    "  rank k's error memory after the step. What is not finite or does not exist is null (CSV: nan, inf or empty).\n"
    "--output: /steps and /averaged/<parameter> [steps, shape...]. Files appear whole or not at all.\n\n"
    "Examples:\n"
    "  psgd-replay -r 4 gradients.h5\n"
    "  psgd-replay -r 2 --json result.json --exclude '*.bias' run.rank0000*.h5\n"
    "  psgd-replay --steps :9 --state-out half.h5 run.h5 && psgd-replay --steps 10: --state-in half.h5 run.h5\n\n";

}  // namespace psgd::tools::replay
