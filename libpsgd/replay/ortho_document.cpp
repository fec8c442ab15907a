#include "libpsgd/replay/ortho_document.hpp"

#include <cmath>
#include <utility>

namespace psgd::replay {
namespace {

using report::Align;
using report::Cell;
using report::Json;
using report::NumberStyle;

Cell finite(double value) { return report::cell_if(std::isfinite(value), value); }

report::Column number(std::string name, NumberStyle style, int digits, std::string heading, std::string unit = {}) {
  return {std::move(name), Align::right, style, digits, std::move(heading), std::move(unit)};
}

void fill_row(const OrthoRecord& record, report::Row& row) {
  std::size_t at = 0;
  for (const Cell& cell : std::initializer_list<Cell>{
           record.method, record.shape.rows, record.shape.cols, record.shape.batch,
           std::string(to_string(record.dtype)), record.input, report::cell_if(record.rank > 0, record.rank),
           record.seconds, record.seconds_spread, record.bytes_per_second / 1e9, record.flops_per_second / 1e9,
           finite(record.orthogonality), finite(record.residual), finite(record.subspace_sine)}) {
    row[at++] = cell;
  }
}

Json crossover_json(const Crossover& crossover) {
  return {{"rows", crossover.rows},
          {"dtype", to_string(crossover.dtype)},
          {"method", crossover.method},
          {"overtakes", crossover.overtakes},
          {"cols", crossover.cols ? Json(*crossover.cols) : Json(nullptr)}};
}

Json share_json(const StepShare& share) {
  return {{"rank", share.rank}, {"method", share.method}, {"seconds", share.seconds}, {"share", share.share}};
}

template <class Item>
Json array_of(const std::vector<Item>& items, Json (*json)(const Item&)) {
  Json array = Json::array();
  for (const Item& item : items) array.push_back(json(item));
  return array;
}

Json cost_json(const RankCost& cost) { return {{"rank", cost.rank}, {"step_seconds", cost.step_seconds}}; }

Json advice_json(const OrthoResult& result, const OrthoAdvice& advice) {
  return {{"recommended", advice.recommended ? Json(*advice.recommended) : Json(nullptr)},
          {"tolerance", advice.tolerance},
          {"seconds", advice.recommended ? Json(advice.seconds) : Json(nullptr)},
          {"pytorch_seconds", advice.pytorch_seconds ? Json(*advice.pytorch_seconds) : Json(nullptr)},
          {"reasons", advice.reasons},
          {"crossovers", array_of(advice.crossovers, crossover_json)},
          {"steps", array_of(result.rank_costs, cost_json)},
          {"shares", array_of(advice.shares, share_json)}};
}

}  // namespace

report::Table ortho_table(const OrthoResult& result) {
  std::vector<report::Column> columns{
      report::text_column("method"),
      {"rows"},
      {"cols"},
      {"batch"},
      report::text_column("dtype"),
      report::text_column("input"),
      {"rank"},
      number("seconds", NumberStyle::general, 3, "seconds"),
      number("seconds_spread", NumberStyle::general, 2, "spread"),
      number("gigabytes_per_second", NumberStyle::general, 3, "GB/s"),
      number("gigaflops_per_second", NumberStyle::general, 3, "GFLOP/s"),
      number("orthogonality", NumberStyle::scientific, 1, "orthogonality"),
      number("residual", NumberStyle::scientific, 1, "residual"),
      number("subspace_sine", NumberStyle::scientific, 1, "sine"),
  };
  return {std::move(columns), result.records.size(),
          [&](std::size_t index, report::Row& row) { fill_row(result.records[index], row); }};
}

report::JsonDocument document(const OrthoResult& result, const OrthoAdvice& advice) {
  report::JsonDocument document;
  document.add("schema", "psgd-ortho");
  document.add("version", 1);
  document.add("complete", result.complete);
  document.add_table("columns", "records", ortho_table(result));
  document.add("advice", advice_json(result, advice));
  return document;
}

}  // namespace psgd::replay
