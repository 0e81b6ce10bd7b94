// LU factors of a sparse matrix whose pivots are chosen once and kept: later factorisations only follow lists of places.
//
//   P R A C Q = L U   with R, C diagonal: the caller's scales times powers of two taken when the pivots were chosen
//
// Large patterns are ordered by their structure (those of a chain become a band), small ones by their values. A kept pivot
// that has become small in its row, or entries that have grown, are noticed; then the pivots are chosen by value, on the
// present values.
#pragma once

#include <limits>

#include "linear/chain_factors.hpp"
#include "linear/column_band.hpp"
#include "linear/front_factors.hpp"
#include "linear/row_factors.hpp"
#include "linear/short_factors.hpp"
#include "machine/arithmetic.hpp"
#include "machine/block.hpp"

namespace daedalus {

inline namespace DAEDALUS_ISA {

template <class Number>
class SparseLu {
public:
    // The pattern of the matrix must outlive this: pivots may have to be chosen at any factorisation.
    [[nodiscard]] bool make(const CompactPattern& matrix) noexcept {
        matrix_ = &matrix, n_ = matrix.n;
        return scaled_.make(matrix.nonzeros) && own_rows_.make(n_) &&
               own_columns_.make(n_) && given_rows_.make(n_) && given_columns_.make(n_) && rows_.make(n_) &&
               columns_.make(n_);
    }

    // False: singular, not finite, or no memory for other pivots.
    DAEDALUS_ONCE bool factor(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        fresh_ = false;
        // Values that are not finite say nothing about the structure. Those of a chain make its pivots poor.
        const bool large = n_ >= StructureOrder::least_unknowns, chain = ordered_ && form_ == Form::chain;
        if (large && !chain && !finite(values)) return false;
        if (ordered_) {
            if (scales_differ(row_scale, column_scale)) take_scales(row_scale, column_scale);
            if ((large ? refactor_finite(values) : refactor(values)) == Quality::good) return true;
            if (chain && !finite(values)) return false;
        } else if (follow_structure(values, row_scale, column_scale)) {
            return true;
        }
        if (order_later() && follow_structure(values, row_scale, column_scale)) return true;
        const Structure structure = by_structure_;
        const Form form = form_;
        if (factor_with_new_pivots(values, row_scale, column_scale)) return true;
        // No pivots at all: the order of the structure was not to blame and serves again.
        if (structure == Structure::yes) form_ = form, by_structure_ = Structure::yes;
        return false;
    }
    bool factor_with_new_pivots(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        const Choice done = try_new_pivots(values, row_scale, column_scale);
        if (done != Choice::singular || strict()) return done == Choice::made;
        // What is left of entries that grew may look like nothing.
        rule_ = PivotRule::by_row_and_column;
        if (try_new_pivots(values, row_scale, column_scale) == Choice::made) return true;
        rule_ = PivotRule::by_row;
        return false;
    }
    // The same, with the scales of the last factorisation.
    bool choose_again(const Number* values) noexcept {
        return factor_with_new_pivots(values, given_rows_.data(), given_columns_.data());
    }

    // With pivots that are large in their columns, too, from now on: where those chosen by rows let entries grow.
    bool factor_strictly(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        rule_ = PivotRule::by_row_and_column;
        return factor_with_new_pivots(values, row_scale, column_scale);
    }
    bool choose_strictly(const Number* values) noexcept {
        return factor_strictly(values, given_rows_.data(), given_columns_.data());
    }
    bool strict() const noexcept { return rule_ == PivotRule::by_row_and_column; }

    DAEDALUS_ONCE void solve(Number* b) noexcept {
        with_factors([&](auto& factors) { factors.solve(b); });
    }

    // A X = B in place, for some columns at once; `y` has room for n rows of them.
    template <int width>
    void solve_band(const ColumnBand& band, double* y) noexcept {
        with_factors([&](auto& factors) { factors.template solve_band<width>(band, y); });
    }

    // Whether every answer with the last factors has a backward error of some roundings, so that none has to be measured.
    bool stable() const noexcept { return form_ == Form::chain && chain_factors_.stable(); }
    // Whether one good answer with the last factors speaks for all others.
    bool calm() const noexcept { return watch_.calm(); }
    // Were the pivots chosen on the present values?
    bool fresh() const noexcept { return fresh_; }
    void forget_pivots() noexcept { ordered_ = false, by_structure_ = Structure::no; }
    long long fill() const noexcept { return fill_; }
    // Entries a row of the band that is factored; 0 for other factors.
    long long band() const noexcept { return ordered_ && form_ == Form::chain ? 2LL * chain_.half() + 1 : 0; }

    // Multiplications with subtraction of one factorisation.
    long long operations() const noexcept { return operations_; }
    // The same by structure alone, before there are values; zero where the pattern has no such order.
    DAEDALUS_COLD long long predicted_operations() noexcept {
        if (by_structure_ != Structure::unknown || n_ < StructureOrder::least_unknowns || !find_structure()) return 0;
        return operations_;
    }

    long long orderings = 0;

private:
    Choice try_new_pivots(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        ordered_ = false, by_structure_ = Structure::no;
        if (!equilibrate(values, row_scale, column_scale)) return Choice::no_memory;
        ++orderings;
        const Choice choice = PivotOrder<Number>::choose(*matrix_, scaled_.data(), rule_, elimination_);
        if (choice != Choice::made) return choice;
        if (!write_places()) return Choice::no_memory;
        take_scales(row_scale, column_scale);
        ordered_ = fresh_ = true;
        return refactor(values) == Quality::singular ? Choice::singular : Choice::made;
    }

    // Looked for once, by whoever asks first.
    bool find_structure() noexcept {
        if (!searched_) {
            searched_ = true;
            is_chain_ = n_ >= StructureOrder::least_unknowns && chain_.keep(*matrix_);
            if (!is_chain_ && structure_.read(*matrix_) == Choice::made) {
                is_chain_ = chain_.find(structure_.graph, matrix_->nonzeros);
                has_structure_ = !is_chain_ && structure_.find(*matrix_) == Choice::made;
            }
            if (has_structure_) fill_ = structure_.tree.fill(), operations_ = structure_.tree.operations();
            if (is_chain_) has_structure_ = chain_factors_.write(*matrix_, chain_);
            if (is_chain_) fill_ = chain_factors_.fill(), operations_ = chain_factors_.operations();
        }
        return has_structure_;
    }

    // The order of the structure, where there is one; false: pivots have to be chosen by value.
    DAEDALUS_COLD bool follow_structure(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        if (by_structure_ == Structure::no || n_ < StructureOrder::least_unknowns) return false;
        if (by_structure_ == Structure::unknown) {
            by_structure_ = Structure::no;
            if (!find_structure()) return false;
            // Short rows: an order by value is found as fast, and has runs of pivots of one shape.
            if (!is_chain_ && operations_ <= ShortFactors<Number>::operations_a_place * fill_) return false;
            if (!is_chain_ && !front_factors_.write(*matrix_, structure_)) return false;
            ++orderings;
            form_ = is_chain_ ? Form::chain : Form::fronts, by_structure_ = Structure::yes;
        }
        if (!equilibrate(values, row_scale, column_scale)) return false;
        take_scales(row_scale, column_scale);
        ordered_ = true;
        return refactor_finite(values) == Quality::good;
    }

    // Another order of the structure, for values that made a pivot of the first one poor; false: there is none.
    DAEDALUS_COLD bool order_later() noexcept {
        if (by_structure_ != Structure::yes || form_ != Form::fronts) return false;
        const Choice choice = structure_.find_later(*matrix_);
        if (choice == Choice::singular) return false;
        if (choice == Choice::no_memory || !front_factors_.write(*matrix_, structure_)) {
            by_structure_ = Structure::no, has_structure_ = false;
            return false;
        }
        fill_ = structure_.tree.fill(), operations_ = structure_.tree.operations(), ++orderings;
        return true;
    }

    bool equilibrate(const Number* values, const double* row_scale, const double* column_scale) noexcept {
        double* largest = rows_.data();
        for (std::int32_t i = 0; i < n_; ++i) largest[i] = 0;
        double total = 0;
        for (std::int32_t c = 0; c < n_; ++c) {
            const double given = column_scale ? column_scale[c] : 1;
            double size = 0;
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p) {
                const long long i = matrix_->rows[p];
                scaled_[p] = scaled(values[p], row_scale ? given * row_scale[i] : given);
                size = larger(magnitude(scaled_[p]), size);
                total += magnitude(scaled_[p]);
            }
            own_columns_[c] = balancing_power(size);
            for (std::int32_t p = matrix_->begin[c]; p < matrix_->begin[c + 1]; ++p) {
                scaled_[p] = scaled(scaled_[p], own_columns_[c]);
                largest[matrix_->rows[p]] = larger(magnitude(scaled_[p]), largest[matrix_->rows[p]]);
            }
        }
        for (std::int32_t i = 0; i < n_; ++i) own_rows_[i] = balancing_power(largest[i]);
        for (long long p = 0; p < matrix_->nonzeros; ++p)
            scaled_[p] = scaled(scaled_[p], own_rows_[matrix_->rows[p]]);
        return std::isfinite(total);
    }

    bool scales_differ(const double* row_scale, const double* column_scale) const noexcept {
        return differs(row_scale, rows_given_, given_rows_.data()) ||
               differs(column_scale, columns_given_, given_columns_.data());
    }
    bool differs(const double* scale, bool given, const double* kept) const noexcept {
        if (!scale || !given) return scale || given;
        long long equal = 0;
        for (std::int32_t i = 0; i < n_; ++i) equal += scale[i] == kept[i];
        return equal < n_;
    }

    void take_scales(const double* row_scale, const double* column_scale) noexcept {
        rows_given_ = row_scale, columns_given_ = column_scale;
        for (std::int32_t i = 0; i < n_; ++i) {
            given_rows_[i] = row_scale ? row_scale[i] : 1;
            given_columns_[i] = column_scale ? column_scale[i] : 1;
            rows_[i] = given_rows_[i] * own_rows_[i];
            columns_[i] = given_columns_[i] * own_columns_[i];
        }
        with_factors([&](auto& factors) { factors.take_scales(rows_.data(), columns_.data()); });
    }

    // The places of one order of pivots: with a place for every product where rows are short, else row by row.
    bool write_places() noexcept {
        const Elimination& e = elimination_;
        const long long lower = e.lower_begin[n_], upper = e.upper_begin[n_];
        if (n_ + lower + upper > std::numeric_limits<std::int32_t>::max()) return false;
        fill_ = n_ + lower + upper, operations_ = 0;
        for (std::int32_t k = 0; k < n_; ++k)
            operations_ += (e.lower_begin[k + 1] - e.lower_begin[k]) * (1 + e.upper_begin[k + 1] - e.upper_begin[k]);
        const bool rows_are_short = operations_ <= ShortFactors<Number>::operations_a_place * fill_;
        form_ = rows_are_short ? Form::places : Form::rows;
        return rows_are_short ? short_factors_.write(*matrix_, e) : row_factors_.write(*matrix_, e);
    }

    bool finite(const Number* values) const noexcept {
        double total = 0;
        DAEDALUS_SIMD_SUM(total)
        for (std::int32_t p = 0; p < matrix_->nonzeros; ++p) total += magnitude(values[p]);
        return std::isfinite(total);
    }

    Quality refactor(const Number* values) noexcept {
        return finite(values) ? refactor_finite(values) : Quality::singular;
    }
    Quality refactor_finite(const Number* values) noexcept {
        return with_factors([&](auto& factors) { return factors.factor(values, watch_); });
    }

    enum class Structure { unknown, yes, no };
    enum class Form { places, rows, fronts, chain };

    template <class Work>
    DAEDALUS_INLINE auto with_factors(Work&& work) noexcept {
        switch (form_) {
            case Form::chain: return work(chain_factors_);
            case Form::fronts: return work(front_factors_);
            case Form::rows: return work(row_factors_);
            default: return work(short_factors_);
        }
    }

    const CompactPattern* matrix_ = nullptr;
    std::int32_t n_ = 0;
    long long fill_ = 0, operations_ = 0;
    bool ordered_ = false, fresh_ = false, rows_given_ = false, columns_given_ = false;
    Form form_ = Form::rows;
    Structure by_structure_ = Structure::unknown;
    bool searched_ = false, has_structure_ = false, is_chain_ = false;
    Elimination elimination_;
    StructureOrder structure_;
    ChainOrder chain_;
    ChainFactors<Number> chain_factors_;
    ShortFactors<Number> short_factors_;
    RowFactors<Number> row_factors_;
    FrontFactors<Number> front_factors_;
    Block<double> own_rows_, own_columns_, given_rows_, given_columns_, rows_, columns_;
    Block<Number> scaled_;
    PivotWatch watch_;  // of the last factorisation
    PivotRule rule_ = PivotRule::by_row;
};

}  // namespace DAEDALUS_ISA

}  // namespace daedalus
