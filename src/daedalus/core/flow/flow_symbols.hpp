// What the exported symbols of a slot call; part counts as FlowPart does: value, jacobian, reverse, second.
#pragma once

namespace daedalus::flows {

int slot_evaluate(int slot, int part, const double** arg, double** res) noexcept;
int slot_config(int slot, int count, const char** arguments) noexcept;
void slot_count(int slot, int change) noexcept;
long long slot_n_in(int slot, int part) noexcept;
long long slot_n_out(int slot, int part) noexcept;
const char* slot_name_in(int slot, int part, long long i) noexcept;
const char* slot_name_out(int slot, int part, long long i) noexcept;
const long long* slot_sparsity_in(int slot, int part, long long i) noexcept;
const long long* slot_sparsity_out(int slot, int part, long long i) noexcept;

}  // namespace daedalus::flows
