#include "tools/psgd-inspect/inspect_options.hpp"

#include "libpsgd/base/error.hpp"
#include "tools/common/main.hpp"

namespace psgd::tools::inspect {
namespace {

constexpr const char* summary =
    "Shows what is in a gradient dump (layout v1, one file or one a process rank), whether it is sound, and what each\n"
    "matrix approximation rank would compress.";

constexpr const char* schema_help =
    "Results: tables on standard output. --json writes one object:\n"
    "  schema \"psgd-inspect\", version 1; complete: false when interrupted before all data was read; config;\n"
    "  dump: files, world_size, process_ranks, missing_process_ranks, steps, step_stride (of most steps),\n"
    "    step_gaps [{after, before}], parameters, numel, bytes_per_step (one process rank), dtype, grad_kind, "
    "complete,\n"
    "    buckets_recorded, framework, framework_version, model, writer, loss, loss_scale, accumulation;\n"
    "  sound: no entry of findings is a problem; findings: [{kind, severity (problem or note), parameter, step,\n"
    "    process_rank, count, text}];\n"
    "  rank_columns, rank_records: a row per rank, counts as compression_stats() of one compressed step gives them;\n"
    "  bucket_columns, bucket_records: a row per DistributedDataParallel bucket;\n"
    "  columns, records: a row per parameter, as in --csv; norms are of single process ranks' gradients, finite ones "
    "only;\n"
    "    compressed_rank<r>: whether the layerwise hook compresses it at rank r.\n"
    "A rank is the matrix approximation rank; the members of a job are process ranks.\n\n";

Setting rank_list(std::vector<std::int64_t>& target) {
  return {[&target](const std::string& text) { target = parse_integer_list(text); },
          [&target] { return report::Json(target); }};
}

}  // namespace

std::optional<InspectOptions> parse_inspect_options(const std::vector<std::string>& arguments) {
  InspectOptions result;
  Options options({"psgd-inspect", "[options] DUMP.h5 [DUMP.h5 ...]", summary, schema_help + exit_code_help()});
  options.group("What would be compressed")
      .add("matrix-approximation-rank,r", "LIST", rank_list(result.matrix_approximation_ranks),
           "ranks to try, N or FIRST:LAST between commas", "1,2,4,8,16,32")
      .add("min-compression-rate", "X", number(result.min_compression_rate, 0),
           "a tensor is compressed when (rows + cols) * rank * X < rows * cols");
  options.group("Input")
      .add_switch("no-data", result.no_data,
                  "do not read the gradients: no norms, no look for zeros and non-finite values")
      .add("memory-limit", "SIZE", size(result.memory_limit), "most memory for gradients, as 512MiB, 4G or 1e9 bytes");
  options.group("Results");
  add_result_options(options, result.results, "write the table of parameters as CSV");
  add_common_options(options, result.common);

  const auto files = options.parse(arguments);
  if (!files) return std::nullopt;
  if (files->empty()) throw Error::usage("no dump was named (see psgd-inspect --help)");
  result.files.assign(files->begin(), files->end());
  result.config = options.values();
  return result;
}

}  // namespace psgd::tools::inspect
