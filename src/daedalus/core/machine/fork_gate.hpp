// Who is inside code whose locks a forked child must find free: a gate that forks close.
//
// Of all threads a child has the forking one alone, so a lock of C++ that another thread held at that moment stays held
// for ever. Threads pass the gate on their way into such code; the forking one closes it and waits until nobody is
// inside. Entering and leaving are two plain stores each, and no lock of the gate can be held by anybody.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <thread>

namespace daedalus {

class ForkGate {
public:
    // Waits while a fork is on its way; a thread that is inside already goes on.
    static void enter() noexcept {
        Slot* own = slot();
        if (!own || own->depth++) return;
        for (;;) {
            own->calls.fetch_add(1, std::memory_order_seq_cst);
            if (!closed.load(std::memory_order_seq_cst)) return;
            own->calls.fetch_add(1, std::memory_order_release);
            while (closed.load(std::memory_order_acquire)) pause();
        }
    }

    // Of a thread that never entered: it was inside before the gate stood.
    static void leave() noexcept {
        Slot* own = mine;
        if (own && own->depth && --own->depth == 0) own->calls.fetch_add(1, std::memory_order_release);
    }

    // Whether nobody else is inside, waited for at most this long. The gate stays closed, also where somebody is.
    static bool close(double seconds) noexcept {
        closed.store(true, std::memory_order_seq_cst);
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
        while (!empty())
            if (std::chrono::steady_clock::now() < end)
                pause();
            else
                return false;
        return true;
    }

    // What is inside now has been waited for long enough: a solver that runs for minutes holds no lock.
    static void pass_over() noexcept {
        for (Slot* other = first.load(std::memory_order_acquire); other; other = other->next)
            other->passed_over.store(other->calls.load(std::memory_order_acquire), std::memory_order_relaxed);
    }

    static void open() noexcept { closed.store(false, std::memory_order_seq_cst); }

    // In a child: of the other threads there is none.
    static void forget_others() noexcept {
        for (Slot* other = first.load(std::memory_order_acquire); other; other = other->next) {
            if (other == mine) continue;
            other->calls.store(0, std::memory_order_relaxed), other->depth = 0;
            other->taken.store(false, std::memory_order_release);
        }
    }

private:
    // One thread's; it outlives the thread and serves another one then.
    struct Slot {
        std::atomic<std::uint64_t> calls{0}, passed_over{0};  // an odd number of calls: it is inside
        std::atomic<bool> taken{true};
        int depth = 0;
        Slot* next = nullptr;
    };

    struct EndOfThread {
        ~EndOfThread() {
            if (mine) mine->taken.store(false, std::memory_order_release);
            mine = nullptr;
        }
    };

    static void pause() noexcept { std::this_thread::sleep_for(std::chrono::microseconds(100)); }

    static bool empty() noexcept {
        for (Slot* other = first.load(std::memory_order_acquire); other; other = other->next) {
            const std::uint64_t calls = other->calls.load(std::memory_order_seq_cst);
            if (calls % 2 && other != mine && calls != other->passed_over.load(std::memory_order_relaxed)) return false;
        }
        return true;
    }

    // Null where there is no memory for it.
    static Slot* slot() noexcept {
        if (mine) return mine;
        static thread_local EndOfThread end;
        (void)end;
        for (Slot* other = first.load(std::memory_order_acquire); other; other = other->next)
            if (bool free = false; other->taken.compare_exchange_strong(free, true)) return mine = other;
        Slot* made = new (std::nothrow) Slot;
        if (!made) return nullptr;
        made->next = first.load(std::memory_order_relaxed);
        while (!first.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {}
        return mine = made;
    }

    inline static std::atomic<bool> closed{false};
    inline static std::atomic<Slot*> first{nullptr};
    inline static thread_local Slot* mine = nullptr;
};

// One thread's stay inside.
class BehindForkGate {
public:
    BehindForkGate() noexcept { ForkGate::enter(); }
    ~BehindForkGate() { ForkGate::leave(); }
    BehindForkGate(const BehindForkGate&) = delete;
    BehindForkGate& operator=(const BehindForkGate&) = delete;
};

}  // namespace daedalus
