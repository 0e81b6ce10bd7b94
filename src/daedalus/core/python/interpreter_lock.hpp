// Python's lock, let go of and taken, in threads that may outlive the interpreter.
//
// When a process ends, CPython ends the threads that ask for its lock by unwinding their stacks, which stops at the first
// function that must not throw and aborts the process. Such a thread rests here instead until the process is gone.
#pragma once

#include <chrono>
#include <thread>

#ifdef __GLIBCXX__
#include <cxxabi.h>
#endif

#include "python/python_arrays.hpp"

namespace daedalus {

[[noreturn]] inline void rest_until_the_end() noexcept {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Whatever asks for the lock, callables of Python included.
template <class Work>
void with_lasting_thread(Work&& work) {
#ifdef __GLIBCXX__
    try {
        work();
    } catch (const abi::__forced_unwind&) {
        rest_until_the_end();
    }
#else
    work();
#endif
}

class LockReleased {
public:
    LockReleased() : state_(PyEval_SaveThread()) {}
    ~LockReleased() {
        with_lasting_thread([this] { PyEval_RestoreThread(state_); });
    }
    LockReleased(const LockReleased&) = delete;
    LockReleased& operator=(const LockReleased&) = delete;

private:
    PyThreadState* state_;
};

class LockTaken {
public:
    LockTaken() {
        with_lasting_thread([this] { state_ = PyGILState_Ensure(); });
    }
    ~LockTaken() { PyGILState_Release(state_); }
    LockTaken(const LockTaken&) = delete;
    LockTaken& operator=(const LockTaken&) = delete;

private:
    PyGILState_STATE state_;
};

}  // namespace daedalus
