#include <utility>

#include <fmt/format.h>

#include "tools/psgd-inspect/inspection_report.hpp"

namespace psgd::tools::inspect {
namespace {

using report::Align;
using report::cell_if;
using report::cell_of;
using report::Column;
using report::NumberStyle;
using report::Row;
using report::text_column;

Column count_column(std::string name, std::string heading) {
  return {std::move(name), Align::right, NumberStyle::general, 4, std::move(heading)};
}

Column rate_column(std::string name, std::string heading) {
  return {std::move(name), Align::right, NumberStyle::fixed, 2, std::move(heading)};
}

void append_description(const Parameter& parameter, Row& row) {
  const bool scalar = parameter.shape.empty();
  const MatrixExtents matrix = scalar ? MatrixExtents{} : matrix_extents(parameter.shape);
  row.emplace_back(parameter.name);
  row.emplace_back(to_string(parameter.shape));
  row.emplace_back(std::string(to_string(parameter.dtype)));
  row.emplace_back(std::string(to_string(parameter.memory_format)));
  row.emplace_back(std::int64_t{parameter.bucket});
  row.emplace_back(parameter.offset);
  row.emplace_back(numel(parameter.shape));
  row.push_back(cell_if(!scalar, matrix.rows));
  row.push_back(cell_if(!scalar, matrix.cols));
}

void append_statistics(const GradientStatistics& statistics, Row& row) {
  const bool any = statistics.finite_records > 0;
  row.push_back(cell_if(any, statistics.norm_min));
  row.push_back(cell_if(any, statistics.norm_sum / static_cast<double>(statistics.finite_records)));
  row.push_back(cell_if(any, statistics.norm_max));
  row.emplace_back(statistics.zero_records);
  row.emplace_back(statistics.unused_records);
  row.emplace_back(statistics.non_finite_values);
  row.push_back(cell_of(statistics.first_non_finite_step));
  row.push_back(cell_of(statistics.first_non_finite_process_rank));
}

constexpr std::size_t statistics_columns = 8;

}  // namespace

report::Table parameter_table(const Inspection& inspection) {
  std::vector<Column> columns{text_column("parameter"),
                              text_column("shape"),
                              text_column("dtype"),
                              text_column("memory_format"),
                              {"bucket"},
                              {"offset"},
                              {"numel"},
                              {"rows"},
                              {"cols"},
                              {"norm_min"},
                              {"norm_mean"},
                              {"norm_max"},
                              {"zero_records"},
                              {"unused_records"},
                              {"non_finite_values"},
                              {"first_non_finite_step"},
                              {"first_non_finite_process_rank"}};
  for (const RankPlan& plan : inspection.plans) columns.push_back({fmt::format("compressed_rank{}", plan.rank)});
  report::Table table(std::move(columns));
  for (std::size_t i = 0; i < inspection.dump.parameters.size(); ++i) {
    Row row;
    append_description(inspection.dump.parameters[i], row);
    if (inspection.survey) {
      append_statistics(inspection.survey->parameters[i], row);
    } else {
      row.resize(row.size() + statistics_columns);
    }
    for (const RankPlan& plan : inspection.plans) row.emplace_back(bool(plan.compressed[i]));
    table.add(std::move(row));
  }
  return table;
}

report::Table rank_table(const Inspection& inspection) {
  report::Table table({count_column("matrix_approximation_rank", "rank"),
                       count_column("compressed_parameters", "parameters compressed"),
                       count_column("numel_before", "elements before"), count_column("numel_after", "elements after"),
                       rate_column("compression_rate", "rate"),
                       count_column("batched_numel_after", "after, batched hook"),
                       rate_column("batched_compression_rate", "rate, batched hook")});
  for (const RankPlan& plan : inspection.plans) {
    const bool fits = plan.batched_numel_after > 0 || plan.rank == 0;
    table.add({plan.rank, plan.compressed_parameters, plan.numel_before, plan.numel_after, plan.rate(),
               cell_if(fits, plan.batched_numel_after), cell_if(fits, plan.batched_rate())});
  }
  return table;
}

report::Table bucket_table(const Inspection& inspection) {
  report::Table table({{"bucket"}, text_column("dtype"), {"parameters"}, {"numel"}, {"bytes"}, {"square_side"}});
  for (const Bucket& bucket : inspection.layout.buckets) {
    table.add({std::int64_t{bucket.index}, std::string(to_string(bucket.dtype)),
               static_cast<std::int64_t>(bucket.tensors.size()), bucket.length,
               bucket.length * static_cast<std::int64_t>(size_of(bucket.dtype)), square_side(bucket.length)});
  }
  return table;
}

}  // namespace psgd::tools::inspect
