// The last tier of programs that sum items.
#include "runtime/program/runner.h"

namespace rimetree::program {

namespace {

bool adds_products(Op op) { return op == Op::add_products_sum || op == Op::add_products_difference; }

}  // namespace

void Runner::run_sums(const Program::Tier& tier) {
  spread();
  prepare_steps(tier);
  const std::size_t total = data_.cells.size(), n_block = (total + block_ - 1) / block_;
  const std::size_t begin = n_block * data_.part / data_.n_part * block_,
                    end = std::min(total, n_block * (data_.part + 1) / data_.n_part * block_);
  together_ = 0;
  for (std::size_t first = begin; first < end; first += block_) {
    const std::size_t n = std::min(block_, total - first);
    for (const Program::Instruction& instruction : program_.once_) execute(instruction, first, n);
    for (const Program::Instruction& instruction : program_.begin_sums_) begin_sum(instruction, first, n);
    for (std::size_t item = 0; item < n_item_; ++item) {
      for (std::size_t k = 0; k < program_.spreads_.size(); ++k)
        row(program_.spreads_[k].row).numbers = spread_ + (k * n_item_ + item) * kStep;
      begin_item(item);
      run_steps(tier, item * total + first, n);
    }
    skipped_ = 0;
    for (const Program::Instruction& instruction : program_.end_sums_) execute(instruction, first, n);
  }
}

void Runner::prepare_steps(const Program::Tier& tier) {
  room_.calls.clear();
  room_.moving.clear();
  std::vector<bool> moves(room_.rows.size(), false);
  for (const Program::Spread& spread : program_.spreads_) moves[static_cast<std::size_t>(spread.row)] = true;
  for (const auto* instructions : {&program_.once_, &tier.instructions})
    for (const Program::Instruction& instruction : *instructions) {
      const bool computes = instruction.what == What::compute || instruction.what == What::look_up;
      if (instructions == &tier.instructions) {
        Call& call = room_.calls.emplace_back();
        if (computes) prepare_call(instruction, moves, call);
      }
      for (const std::int32_t out : instruction.out)
        if (out >= 0) moves[static_cast<std::size_t>(out)] = !computes;
    }
  for (const Program::Instruction& begin : program_.begin_sums_)
    for (const std::int32_t out : begin.out)
      if (out >= 0) row(out).numbers = own(out);
  find_shared(tier);
}

void Runner::find_shared(const Program::Tier& tier) {
  room_.shared.clear();
  const auto& instructions = tier.instructions;
  // Of a sum that is its own outcome, to which two rows times one number each are added.
  const auto fits = [&](std::size_t i) {
    const Program::Instruction& one = instructions[i];
    const Call& call = room_.calls[i];
    return one.what == What::compute && adds_products(one.op) && one.out[0] == one.in[4] && call.in[1].varies == 0 &&
           call.in[3].varies == 0 && call.in[0].varies != 0 && call.in[2].varies != 0 && call.in[4].varies != 0;
  };
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    if (!fits(i)) continue;
    const std::int32_t x = instructions[i].in[0], y = instructions[i].in[2];
    Room::Shared found{i, {}};
    for (; i < instructions.size() && found.products.n_sum < SharedProducts::kMost && fits(i); ++i) {
      const Program::Instruction& one = instructions[i];
      const bool same = one.in[0] == x && one.in[2] == y, turned = one.in[0] == y && one.in[2] == x;
      if (!same && !turned) break;
      found.products.sum[found.products.n_sum++] = room_.calls[i].out[0];
    }
    --i;
    if (found.products.n_sum > 1) room_.shared.push_back(found);
  }
}

/// p - q is p + (-q), and p + q is q + p: one form for all of them.
void Runner::add_shared(Room::Shared& shared, const Program::Tier& tier, std::size_t n) {
  SharedProducts& products = shared.products;
  const std::int32_t x = tier.instructions[shared.call].in[0];
  products.x = room_.calls[shared.call].in[0].numbers, products.y = room_.calls[shared.call].in[2].numbers;
  for (int k = 0; k < products.n_sum; ++k) {
    const Program::Instruction& one = tier.instructions[shared.call + static_cast<std::size_t>(k)];
    const Call& call = room_.calls[shared.call + static_cast<std::size_t>(k)];
    double first = call.in[1].numbers[0], second = call.in[3].numbers[0];
    if (one.op == Op::add_products_difference) second = -second;
    if (one.in[0] != x) std::swap(first, second);
    products.a[k] = first, products.b[k] = second;
  }
  add_shared_products(products, padded(n));
}

void Runner::prepare_call(const Program::Instruction& instruction, const std::vector<bool>& moves, Call& call) {
  for (int k = 0; k < 2 && instruction.out[k] >= 0; ++k) call.out[k] = own(instruction.out[k]);
  for (int k = 0; k < kMostOperands && instruction.in[k] >= 0; ++k) {
    call.in[k] = {own(instruction.in[k]), row(instruction.in[k]).varies};
    if (moves[static_cast<std::size_t>(instruction.in[k])])
      room_.moving.push_back({room_.calls.size() - 1, k, instruction.in[k]});
  }
}

void Runner::run_steps(const Program::Tier& tier, std::size_t first, std::size_t n) {
  auto moving = room_.moving.begin();
  auto shared = room_.shared.begin();
  const auto move_operands = [&](std::size_t end) {
    for (; moving != room_.moving.end() && moving->call < end; ++moving)
      room_.calls[moving->call].in[moving->operand].numbers = row(moving->row).numbers;
  };
  for (std::size_t i = 0; i < tier.instructions.size(); ++i) {
    const Program::Instruction& instruction = tier.instructions[i];
    if (instruction.what != What::compute && instruction.what != What::look_up) {
      execute(instruction, first, n);
      continue;
    }
    if (shared != room_.shared.end() && shared->call == i) {
      i += static_cast<std::size_t>(shared->products.n_sum) - 1;
      move_operands(i + 1);
      add_shared(*shared++, tier, n);
      continue;
    }
    move_operands(i + 1);
    do_call(instruction, room_.calls[i], first, n);
  }
}

void Runner::begin_sum(const Program::Instruction& instruction, std::size_t first, std::size_t n) {
  execute(instruction, first, n);
  Row& sum = row(instruction.out[0]);
  double* const place = own(instruction.out[0]);
  if (sum.numbers != place) std::copy_n(sum.numbers, padded(n), place);
  sum.numbers = place;
}

void Runner::begin_item(std::size_t item) {
  skipped_ = item * data_.cells.size();
  for (Walk& walk : room_.walks)
    if (walk.of_item != nullptr) walk.base = static_cast<double*>(walk.of_item[item]) + walk.offset;
}

void Runner::spread() {
  for (std::size_t k = 0; k < program_.spreads_.size(); ++k) {
    double* to = spread_ + k * n_item_ * kStep;
    room_.walks[static_cast<std::size_t>(program_.spreads_[k].place)].for_each_run(
        0, n_item_, [&](const double* from, std::size_t done, std::size_t length) {
          const Walk& walk = room_.walks[static_cast<std::size_t>(program_.spreads_[k].place)];
          for (std::size_t i = 0; i < length; ++i)
            std::fill_n(to + (done + i) * kStep, kStep, from[i * walk.inner_stride()]);
        });
  }
}

}  // namespace rimetree::program
