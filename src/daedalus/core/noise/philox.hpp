// Random words by their place: Philox 4x64 with ten rounds (J. K. Salmon et al., Parallel random numbers: as easy as 1,
// 2, 3, SC 2011), as NumPy's bit generator of that name has them.
#pragma once

#include <array>
#include <cstdint>

#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

namespace daedalus {

struct WordPair {
    std::uint64_t high, low;
};

// The product of two words.
inline WordPair whole_product(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#elif defined(_MSC_VER) && defined(_M_X64)
    std::uint64_t high;
    const std::uint64_t low = _umul128(a, b, &high);
    return {high, low};
#else
    const std::uint64_t mask = 0xffffffffu;
    const std::uint64_t a0 = a & mask, a1 = a >> 32, b0 = b & mask, b1 = b >> 32;
    const std::uint64_t middle = a1 * b0 + ((a0 * b0) >> 32), other = a0 * b1 + (middle & mask);
    return {a1 * b1 + (middle >> 32) + (other >> 32), a * b};
#endif
}

struct Philox {
    using Words = std::array<std::uint64_t, 4>;

    static constexpr std::uint64_t FIRST = 0xD2E7470EE14C6C93u, SECOND = 0xCA5A826395121157u;
    static constexpr std::uint64_t SEED_STEP = 0x9E3779B97F4A7C15u, STREAM_STEP = 0xBB67AE8584CAA73Bu;
    static constexpr int ROUNDS = 10;

    std::uint64_t seed, stream;

    // The four words of a counter, whose two upper words are zero.
    Words operator()(std::uint64_t place, std::uint64_t level) const {
        std::uint64_t a = place, b = level, c = 0, d = 0, first = seed, second = stream;
        for (int round = 0; round < ROUNDS; ++round) {
            const WordPair p = whole_product(FIRST, a), q = whole_product(SECOND, c);
            a = q.high ^ b ^ first;
            b = q.low;
            c = p.high ^ d ^ second;
            d = p.low;
            first += SEED_STEP;
            second += STREAM_STEP;
        }
        return {a, b, c, d};
    }
};

}  // namespace daedalus
