"""Table of `code_safety`: the members of numpy and pandas that compute, by module, without what reads, writes, plots or imports."""

from __future__ import annotations

__all__ = ["ATTRIBUTES", "COMPANIONS", "FRAMES", "FRAME_MEMBERS", "REDUCING"]

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

COMPANIONS = frozenset(
    """
    numpy pandas io math cmath statistics datetime time decimal fractions json re random collections itertools functools dataclasses typing enum string
    textwrap calendar zoneinfo copy bisect heapq numbers abc __future__ pprint warnings
    """.split()
)
"""Modules that pass beside tables and arrays; none of them looks up a member by its name."""

_OF_TABLES = """
    DataFrame Series T abs add add_prefix add_suffix align all any asfreq asof assign astype at at_time backfill between between_time bfill
    bool categories cat cat_codes ceil clip codes columns combine combine_first compare convert_dtypes corr corrwith count cov cummax cummin cumprod cumsum
    cumcount cut date day day_name day_of_week day_of_year dayofweek dayofyear days days_in_month daysinmonth describe diff difference div divide divmod
    dot drop drop_duplicates droplevel dropna dt dtype dtypes duplicated empty end_time eq equals ewm expanding explode factorize ffill fillna filter first
    first_valid_index floor floordiv freq from_dict from_records from_tuples from_product from_arrays from_frame from_codes from_breaks ge get get_group
    get_level_values get_loc groupby groups gt hasnans head hour iat idxmax idxmin iloc index infer_objects info insert interpolate intersection is_leap_year
    is_month_end is_month_start is_monotonic_decreasing is_monotonic_increasing is_quarter_end is_quarter_start is_unique is_year_end is_year_start
    isetitem isin isna isnull isocalendar item items iterrows itertuples join keys kurt kurtosis last last_valid_index le left length levels
    loc lt mask max mean median melt memory_usage merge microsecond microseconds mid min minute mod mode month month_name mul multiply name names nanosecond nbytes ndim ne
    ngroup ngroups nlargest normalize notna notnull nsmallest nth nunique ohlc ordered pad pct_change pivot pop pow prod product quantile quarter
    radd rank rdiv reindex reindex_like rename rename_axis reorder_levels repeat replace resample reset_index rfloordiv right rmod rmul rolling round rpow rsub rtruediv
    sample searchsorted second seconds sem set_axis set_categories set_index set_names shape shift size skew slice sort_index sort_values squeeze stack start_time std str
    strftime sub subtract sum swapaxes swaplevel symmetric_difference tail take time timetuple to_datetime64 to_dict to_frame to_list to_numpy to_period
    to_pydatetime to_pytimedelta to_records to_timestamp to_timedelta64 to_datetime to_numeric to_timedelta tolist total_seconds transpose truediv truncate
    tz tz_convert tz_localize union unique unstack update value value_counts values var week weekday weekofyear where xs year add_categories
    select_dtypes autocorr axes nlevels slice_replace
    remove_categories rename_categories remove_unused_categories reorder_categories as_ordered as_unordered indices attrs
    capitalize casefold center contains extract extractall endswith find findall fullmatch get_dummies isalnum isalpha isascii isdecimal isdigit
    islower isnumeric isspace istitle isupper len ljust lower lstrip match partition removeprefix removesuffix rfind rindex rjust rpartition rsplit rstrip
    split splitlines startswith strip swapcase title translate maketrans upper wrap zfill
    """
_OF_ARRAYS = """
    flat flatten imag real itemsize argmax argmin argsort sort ravel reshape resize trace conj conjugate cumprod diagonal dot fill nonzero put ptp choose
    compress accumulate reduce reduceat outer at coef coeffs deriv integ roots order fit linspace eigenvalues eigenvectors U S Vh Q R sign logabsdet
    integers random choice normal uniform permutation permuted shuffle standard_normal poisson binomial exponential gamma beta lognormal multivariate_normal
    standard_t spawn bits eps tiny precision resolution kind char categories nin nout identity
    """
_OF_THE_LANGUAGE = """
    append extend index remove reverse clear copy setdefault popitem fromkeys discard issubset issuperset isdisjoint intersection_update difference_update
    most_common elements total subtract appendleft popleft extendleft rotate maxlen move_to_end default_factory namedtuple defaultdict Counter OrderedDict deque ChainMap
    chain from_iterable islice product permutations combinations combinations_with_replacement groupby accumulate zip_longest starmap takewhile dropwhile filterfalse
    tee cycle repeat compress pairwise batched lru_cache cache cached_property partial wraps cmp_to_key total_ordering
    dataclass field fields asdict astuple replace Enum IntEnum StrEnum Flag auto datetime date time timedelta timezone utc now today utcnow fromisoformat isoformat
    strptime fromtimestamp timestamp toordinal fromordinal combine astimezone tzinfo UTC ZoneInfo monthrange isleap month_abbr day_abbr perf_counter monotonic
    sqrt exp log log2 log10 log1p pow ceil floor trunc fabs factorial comb perm gcd lcm hypot sin cos tan asin acos atan atan2 sinh cosh tanh degrees radians
    pi e tau inf nan isnan isinf isfinite isclose fsum prod dist copysign erf erfc lgamma fmod modf mean fmean median mode multimode stdev pstdev
    variance pvariance quantiles harmonic_mean geometric_mean correlation covariance linear_regression NormalDist
    Decimal Fraction quantize ROUND_HALF_UP ROUND_HALF_EVEN ROUND_DOWN ROUND_UP getcontext prec numerator denominator limit_denominator as_integer_ratio is_integer
    loads dumps JSONDecodeError compile search sub subn finditer group groups groupdict span start end escape IGNORECASE MULTILINE DOTALL VERBOSE
    randint randrange choices gauss seed shuffle Random triangular betavariate expovariate bisect bisect_left bisect_right insort heappush heappop heapify
    deepcopy dedent indent fill shorten ascii_letters ascii_lowercase ascii_uppercase digits punctuation pprint pformat
    Any Callable Dict List Set Tuple Optional Union Iterable Iterator Sequence Mapping Literal Final TypeVar Generic NamedTuple TypedDict Protocol ClassVar Annotated Number
    ABC abstractmethod annotations sleep Template substitute safe_substitute filterwarnings simplefilter catch_warnings StringIO getvalue setter
    """
_OF_PROGRAMS = """
    cost qty quantity price amount label score weight width height rate ratio result results rows row column threshold category city country customer customer_id order_id
    product_id user_id region department salary age units discount tax revenue profit balance currency unit_price status group_name temperature x y z n k id key
    """
ATTRIBUTES = frozenset(
    " ".join((_OF_TABLES, _OF_ARRAYS, _OF_THE_LANGUAGE, _OF_PROGRAMS)).split()
).union(*FRAME_MEMBERS.values()) - {"set_option", "option_context", "reset_option"}
"""Members, of whatever object, that pass while tables or arrays are in use: each is data or computes. None of them reads, writes or runs a text."""

REDUCING = frozenset(
    """
    sum mean count min max std var median first last nunique size prod sem skew kurt idxmin idxmax any all abs cumsum cumprod cummax cummin cumcount
    rank diff pct_change shift ffill bfill nth ohlc mode quantile describe ngroup sqrt exp log round
    """.split()
)
"""Methods of tables that may be named by a text."""
