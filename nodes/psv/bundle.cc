#include "nodes/psv/bundle.h"

#include "nodes/psv/adjoint/sky_adjoints.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/forest/forest.h"

namespace rimetree::psv {

namespace {

template <class T>
void skip_sources(Strided<T>& view, std::ptrdiff_t n) {
  if (view) view.data += n * view.source;
}

/// Of the sources that take part in a sum.
SkyInput sky_input_of(const ChildLayout& layout, const LinearSum& sum, const SkyOperands<double>& operands,
                      std::size_t n_channel) {
  SkyInput input{sky_views(layout, operands, n_channel)};
  input.brightness_varies = sum.child(kBrightness).cells()[Axis::frequency] > 1;
  input.with_jones = !layout.jones_elements.empty();
  // In reverse each source has its adjoint.
  input.only_with_flux = (!input.with_jones || layout.is_dark_without_flux) && sum.pull == nullptr;
  input.n_source = sum.n_source;
  for (auto* view : {&input.l, &input.m, &input.n, &input.major, &input.minor, &input.position_angle, &input.profile})
    skip_sources(*view, sum.first_source);
  for (auto& view : input.axes) skip_sources(view, sum.first_source);
  for (auto& view : input.brightness) skip_sources(view, sum.first_source);
  return input;
}

/// How the brightness moves, where somebody asks for its adjoint: planes that are zero may move.
const Vells* tangent_of(const LinearSum& sum) {
  return sum.pull != nullptr && sum.pull->child(kBrightness) != nullptr ? sum.pull->tangent(kBrightness) : nullptr;
}

std::shared_ptr<void> storage_of(const Vells* values) { return values == nullptr ? nullptr : values->storage(); }

/// Tells skies of a node apart: each derivative has one of its own on a device, as the value has.
std::uint64_t owner_of(const LinearSum& sum) {
  const auto node = static_cast<std::uint64_t>(sum.inputs->node.index());
  if (sum.derivative == nullptr) return node;
  const std::uint64_t owner = mix(mix(node, std::string_view("derivative")), std::uint64_t(sum.first_source));
  if (sum.slot != kBrightness) return owner;
  return mix(owner, fingerprint(sum.derivative->parameter));
}

}  // namespace

SkyKey sky_key(const ChildLayout& layout, const LinearSum& sum) {
  const Evaluation& inputs = *sum.inputs;
  const Result* shape = inputs.has_child(kShape) ? &inputs.child(kShape) : nullptr;
  return {&inputs.child(kLmn),       &sum.child(kBrightness), shape,       n_time(layout, inputs),
          sum.derivative != nullptr, sum.first_source,        sum.n_source};
}

void add_ends(const Forest& forest, const Node& psv, bool first, BaselineEnds& ends) {
  if (!first && ends.empty()) return;
  const int child = forest.children(psv.index())[kUvw];
  const State& state = forest.node(child).state();
  const StateValue *p = state.find("station_1_index"), *q = state.find("station_2_index");
  if (p != nullptr && q != nullptr && std::holds_alternative<std::int64_t>(*p) &&
      std::holds_alternative<std::int64_t>(*q)) {
    ends.p.push_back(std::get<std::int64_t>(*p));
    ends.q.push_back(std::get<std::int64_t>(*q));
    return;
  }
  const std::span<const int> two = forest.children(child);
  if (two.size() != 2 || two[0] < 0 || two[1] < 0) {
    ends = {};
    return;
  }
  ends.p.push_back(two[0]);
  ends.q.push_back(two[1]);
}

Bundle::Bundle(const BatchContext& context, const ChildLayout& layout, PackedSkies& skies, const LinearSum& first)
    : forest_(layout.jones_elements.empty() && context.devices.empty() ? nullptr : &context.forest),
      layout_(layout),
      first_(first),
      operands_(sky_operands<double>(*first.inputs, {})),
      channels_(channels_of(layout, first.inputs->cells())),
      jones_operands_(layout, first.inputs->pool, first.first_source),
      tangents_(layout, first.inputs->pool, first.first_source),
      targets_(layout) {
  if (first.derivative != nullptr) operands_.brightness = Operand<double>(first.child(kBrightness));
  input_ = sky_input_of(layout, first, operands_, channels_.frequency_hz.size());
  const Vells* tangent = tangent_of(first);
  if (tangent != nullptr) {
    tangent_ = Operand<double>(*tangent);
    set_brightness(tangent_, layout.brightness_elements, input_.brightness_tangent);
  }
  const Vells* shape = first.inputs->has_child(kShape) ? &first.child(kShape) : nullptr;
  packed_ = skies.get(input_, {storage_of(&first.child(kLmn)), storage_of(&first.child(kBrightness)), storage_of(shape),
                               storage_of(tangent)});
}

void Bundle::add(const LinearSum& sum) {
  // Adjoints of terms lie as the terms do.
  jones_operands_.add([&sum](std::size_t k) { return &sum.child(kFirstJones + k); },
                      sum.pull != nullptr && !sum.reads_originals);
  if (sum.along != nullptr)
    tangents_.add([&sum](std::size_t k) { return sum.inputs->child(kFirstJones + k).derivative(*sum.along); }, false);
  if (sum.pull != nullptr) targets_.add(*sum.pull, sum.reads_originals);
  if (forest_ != nullptr) add_ends(*forest_, sum.inputs->node, !any_, ends_);
  any_ = true;
}

JonesTerms Bundle::terms() {
  JonesTerms terms = jones_operands_.terms();
  terms.targets = targets_.targets();
  if (first_.along != nullptr) terms.tangents = tangents_.terms().pairs;
  return terms;
}

Summed Bundle::over(const Rows& rows) {
  jones_ = terms();
  return {packed_->sky, channels_, rows, jones_, owner_of(first_), packed_->version, ends_};
}

adjoint::SourceWish Bundle::wish() const { return adjoint::wish_of(*first_.pull); }

void Bundle::add_to_children(const adjoint::SourceAdjoints& found) const {
  adjoint::add_to_children(layout_, sky(), found, *first_.pull);
  targets_.add_to_children(found);
}

}  // namespace rimetree::psv
