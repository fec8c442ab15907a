#include "libpsgd/synth/models.hpp"

#include <gtest/gtest.h>

#include <set>

#include "libpsgd/base/error.hpp"

namespace psgd::synth {
namespace {

std::int64_t elements_of(std::string_view model) {
  std::int64_t sum = 0;
  for (const NamedShape& parameter : model_parameters(model)) sum += numel(parameter.shape);
  return sum;
}

TEST(Models, HaveTheKnownNumberOfElements) {
  EXPECT_EQ(elements_of("gpt2-block"), 7'087'872);
  EXPECT_EQ(elements_of("resnet50"), 25'557'032) << "as torchvision.models.resnet50";
  EXPECT_EQ(elements_of("lstm"), 28869 * 650 + 3 * (2 * 2600 * 650 + 2 * 2600) + 28869);
}

TEST(Models, NameEveryParameterOnce) {
  for (const Model& model : models()) {
    std::set<std::string> names;
    for (const NamedShape& parameter : model.parameters()) EXPECT_TRUE(names.insert(parameter.name).second);
  }
}

TEST(Models, RefuseOtherNames) { EXPECT_THROW(model_parameters("alexnet"), Error); }

}  // namespace
}  // namespace psgd::synth
