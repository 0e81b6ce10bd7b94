// Memory for calling one model function from one thread, given back at the end.
#pragma once

#include <vector>

#include "model/function.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

// Interpreter or callback, whichever is there; an empty function fails.
inline int evaluate_without_code(const Call& call) {
    const Function& function = *call.function;
    if (const Interpreter* engine = function.interpreter.load(std::memory_order_acquire))
        return engine->evaluate(engine->id, call.arg, call.res, call.iw, call.w, call.memory);
    if (const Callback callback = function.callback.load(std::memory_order_acquire))
        return callback(function.context, call.keeper, call.arg, call.res);
    return 1;
}

class Caller {
public:
    explicit Caller(const Function& function, void* keeper = nullptr)
        : arguments_(static_cast<std::size_t>(function.sz_arg)),
          results_(static_cast<std::size_t>(function.sz_res)),
          integers_(static_cast<std::size_t>(function.sz_iw)),
          scratch_(static_cast<std::size_t>(function.sz_w)) {
        call_ = {&function,        arguments_.data(), results_.data(), integers_.data(),
                 scratch_.data(), 0,                 keeper,          evaluate_without_code};
        // Machine code needs no memory of the interpreter, and once there it stays.
        if (function.machine_code.load(std::memory_order_acquire)) return;
        interpreter_ = function.interpreter.load(std::memory_order_acquire);
        if (interpreter_ && interpreter_->checkout) call_.memory = interpreter_->checkout(interpreter_->id);
    }
    ~Caller() {
        if (interpreter_ && interpreter_->checkout && interpreter_->release)
            interpreter_->release(interpreter_->id, call_.memory);
    }
    Caller(const Caller&) = delete;
    Caller& operator=(const Caller&) = delete;

    Call& call() { return call_; }

private:
    std::vector<const double*> arguments_;
    std::vector<double*> results_;
    std::vector<long long> integers_;
    std::vector<double> scratch_;
    const Interpreter* interpreter_ = nullptr;
    Call call_;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
