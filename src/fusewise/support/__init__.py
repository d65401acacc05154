"""What every package needs and no engine owns: words for messages, files written whole, and checked records.

Importing it does not import NumPy, so that ``fusewise --help`` is fast.
"""

from fusewise.support._files import (
    STAGE,
    PlainRecord,
    finite_json,
    refuse_to_overwrite,
    refuse_unwritable,
    write_whole,
    written_together,
    written_whole,
)
from fusewise.support._records import (
    Dims,
    Either,
    Flag,
    Instance,
    Maybe,
    Number,
    NumberArray,
    PositionArray,
    Record,
    Rule,
    Several,
    Sparse,
    Word,
    bind,
    check_values,
    verify,
)
from fusewise.support._words import (
    CONTROLS,
    InputError,
    as_input_errors,
    counted,
    in_series,
    in_words,
    readable,
    readable_apart,
    some_of,
    visible,
)
