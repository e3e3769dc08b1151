"""Table of `code_safety`: the members of numpy and pandas that compute, by module, without what reads, writes, plots or imports."""

from __future__ import annotations

__all__ = ["FRAMES", "FRAME_MEMBERS"]

FRAMES = frozenset({"numpy", "pandas"})
FRAME_MEMBERS: dict[str, frozenset[str]] = {
    "numpy": frozenset(
        """
        linalg random fft polynomial array asarray asanyarray ascontiguousarray asfortranarray arange linspace logspace geomspace zeros ones empty full zeros_like
        ones_like empty_like full_like eye identity diag diagflat diagonal tri tril triu vander meshgrid mgrid ogrid indices fromfunction
        fromiter fromstring frombuffer copy copyto reshape ravel moveaxis rollaxis swapaxes transpose permute_dims atleast_1d atleast_2d
        atleast_3d broadcast broadcast_to broadcast_arrays broadcast_shapes expand_dims squeeze concatenate concat stack vstack hstack dstack
        column_stack row_stack block split array_split hsplit vsplit dsplit tile repeat delete insert append resize trim_zeros unique
        unique_all unique_counts unique_values flip fliplr flipud roll rot90 pad bitwise_and bitwise_or bitwise_xor bitwise_not invert
        left_shift right_shift packbits unpackbits binary_repr base_repr all any isfinite isinf isnan isnat isneginf isposinf iscomplex
        iscomplexobj isfortran isreal isrealobj isscalar logical_and logical_or logical_not logical_xor allclose isclose array_equal
        array_equiv greater greater_equal less less_equal equal not_equal sin cos tan arcsin arccos arctan asin acos atan atan2 hypot arctan2
        degrees radians unwrap deg2rad rad2deg sinh cosh tanh arcsinh arccosh arctanh round around rint fix floor ceil trunc prod sum nanprod
        nansum cumprod cumsum nancumprod nancumsum diff ediff1d gradient cross trapz trapezoid exp expm1 exp2 log log10 log2 log1p logaddexp
        logaddexp2 i0 sinc signbit copysign frexp ldexp nextafter spacing lcm gcd add reciprocal positive negative multiply divide power pow
        subtract true_divide floor_divide float_power fmod mod modf remainder divmod angle real imag conj conjugate maximum max amax nanmax
        minimum min amin nanmin fmax fmin convolve clip sqrt cbrt square absolute abs fabs sign heaviside nan_to_num real_if_close interp
        dot vdot inner outer matmul tensordot einsum einsum_path kron trace vecdot matrix_transpose sort lexsort argsort sort_complex partition argpartition argmax
        nanargmax argmin nanargmin argwhere nonzero flatnonzero where searchsorted extract count_nonzero ptp percentile nanpercentile
        quantile nanquantile median average mean std var nanmedian nanmean nanstd nanvar corrcoef correlate cov histogram histogram2d
        histogramdd bincount histogram_bin_edges digitize take take_along_axis put put_along_axis choose compress select piecewise place putmask
        fill_diagonal ix_ ravel_multi_index unravel_index diag_indices diag_indices_from tril_indices tril_indices_from triu_indices triu_indices_from
        mask_indices in1d isin intersect1d setdiff1d setxor1d union1d apply_along_axis apply_over_axes vectorize frompyfunc polyfit polyval polyadd
        polysub polymul polydiv polyder polyint roots poly poly1d kaiser hamming hanning blackman bartlett datetime64 timedelta64
        datetime_as_string datetime_data busday_offset busday_count is_busday busdaycalendar dtype finfo iinfo can_cast promote_types result_type
        min_scalar_type common_type issubdtype isdtype typename ndarray generic number integer signedinteger unsignedinteger inexact floating
        complexfloating bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 intp uintp float16 float32 float64 longdouble complex64
        complex128 str_ bytes_ object_ void intc int_ uint single double byte short long longlong ubyte ushort ulong ulonglong flexible character pi e
        inf nan newaxis euler_gamma NaN Inf infty PINF NINF set_printoptions get_printoptions printoptions array2string array_str array_repr
        format_float_positional format_float_scientific errstate seterr geterr nditer ndenumerate ndindex flatiter s_ c_ r_ index_exp shape
        size ndim may_share_memory shares_memory cumulative_sum cumulative_prod matvec vecmat ufunc __version__ iterable require asarray_chkfinite
        """.split()
    ),
    "numpy.linalg": frozenset(
        "norm inv pinv det slogdet solve lstsq eig eigh eigvals eigvalsh svd svdvals qr cholesky matrix_rank matrix_power cond multi_dot tensorinv tensorsolve LinAlgError "
        "cross diagonal matmul matrix_norm vector_norm matrix_transpose outer trace tensordot vecdot".split()
    ),
    "numpy.random": frozenset(
        """
        default_rng Generator RandomState SeedSequence PCG64 MT19937 Philox SFC64 seed rand randn randint random random_sample ranf sample choice bytes
        shuffle permutation normal uniform standard_normal beta binomial chisquare dirichlet exponential f gamma geometric gumbel hypergeometric
        laplace logistic lognormal logseries multinomial multivariate_normal negative_binomial noncentral_chisquare noncentral_f pareto poisson
        power rayleigh standard_cauchy standard_exponential standard_gamma standard_t triangular vonmises wald weibull zipf random_integers
        """.split()
    ),
    "numpy.fft": frozenset(
        "fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift".split()
    ),
    "numpy.polynomial": frozenset("Polynomial Chebyshev Legendre Laguerre Hermite HermiteE".split()),
    "pandas": frozenset(
        """
        DataFrame Series Index RangeIndex MultiIndex DatetimeIndex TimedeltaIndex PeriodIndex IntervalIndex CategoricalIndex Categorical Timestamp
        Timedelta Period Interval NaT NA DateOffset offsets to_datetime to_timedelta to_numeric date_range bdate_range period_range timedelta_range
        interval_range cut qcut concat merge merge_asof merge_ordered pivot pivot_table crosstab get_dummies from_dummies melt wide_to_long
        lreshape factorize unique isna isnull notna notnull json_normalize infer_freq Grouper NamedAgg CategoricalDtype DatetimeTZDtype
        IntervalDtype PeriodDtype StringDtype BooleanDtype Int8Dtype Int16Dtype Int32Dtype Int64Dtype UInt8Dtype UInt16Dtype UInt32Dtype
        UInt64Dtype Float32Dtype Float64Dtype SparseDtype Flags IndexSlice array option_context set_option reset_option get_option options
        __version__ errors
        """.split()
    ),
    "pandas.errors": frozenset(
        "EmptyDataError ParserError MergeError OutOfBoundsDatetime PerformanceWarning SettingWithCopyWarning UndefinedVariableError InvalidIndexError IntCastingNaNError".split()
    ),
    "pandas.options": frozenset({"display", "mode"}),
    "pandas.offsets": frozenset(
        "Day Hour Minute Second MonthEnd MonthBegin BMonthEnd BMonthBegin QuarterEnd QuarterBegin YearEnd YearBegin Week BDay BusinessDay DateOffset CustomBusinessDay".split()
    ),
}  # fmt: skip
"""Module → its members that compute. A module of these packages that is not here is refused."""
