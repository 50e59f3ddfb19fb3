"""Elicitation: a server asks the user. [2025-06-18.. client/elicitation §Protocol Messages]

In form mode the client shows a form described by a restricted JSON Schema: a flat object whose
properties are the classes of this page that end in ``Schema``. In URL mode, since 2025-11-25, the
user follows a link and what is entered there never passes through the client.
"""

from dataclasses import field
from typing import Dict, List, Literal, Optional, Union

from ..codec import Mark, Model, member, message, tell_apart
from ..revisions import R2025_06_18, R2025_11_25
from .base import MetaObject, RequestMetaObject, notification_meta
from .tasks import TaskMetadata


# -- Schemas of form fields --------------------------------------------------------------------


@message
class StringSchema(Model):
    """A text field. [2025-11-25.. client/elicitation §Requested Schema]"""

    since = R2025_06_18

    type: str = field(init=False, default="string")
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    min_length: Optional[int] = member(default=None)
    max_length: Optional[int] = member(default=None)
    format: Optional[Literal["email", "uri", "date", "date-time"]] = member(default=None)
    default: Optional[str] = member(default=None, since=R2025_11_25)


@message
class NumberSchema(Model):
    """A field for a number or an integer. [2025-11-25.. client/elicitation §Requested Schema]"""

    since = R2025_06_18

    type: Literal["number", "integer"]
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    minimum: Optional[float] = member(default=None)
    maximum: Optional[float] = member(default=None)
    default: Optional[float] = member(default=None, since=R2025_11_25)


@message
class BooleanSchema(Model):
    """A yes-or-no field. [2025-11-25.. client/elicitation §Requested Schema]"""

    since = R2025_06_18

    type: str = field(init=False, default="boolean")
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    default: Optional[bool] = member(default=None)


@message
class UntitledSingleSelectEnumSchema(Model):
    """A choice of one of several values. [2025-11-25.. client/elicitation §Requested Schema]"""

    since = R2025_11_25

    type: str = field(init=False, default="string")
    enum: List[str]
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    default: Optional[str] = member(default=None)


@message
class EnumOption(Model):
    """A value and the words that are shown for it."""

    since = R2025_11_25

    const: str
    title: str


@message
class TitledSingleSelectEnumSchema(Model):
    """A choice of one of several values that have titles. [2025-11-25.. client/elicitation §Requested Schema]"""

    since = R2025_11_25

    type: str = field(init=False, default="string")
    one_of: List[EnumOption]
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    default: Optional[str] = member(default=None)


@message
class UntitledItems(Model):
    """The values of a choice of several."""

    since = R2025_11_25

    type: str = field(init=False, default="string")
    enum: List[str]


@message
class UntitledMultiSelectEnumSchema(Model):
    """A choice of some of several values. [2025-11-25.. client/elicitation §Requested Schema]"""

    since = R2025_11_25

    type: str = field(init=False, default="array")
    items: UntitledItems
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    min_items: Optional[int] = member(default=None)
    max_items: Optional[int] = member(default=None)
    default: Optional[List[str]] = member(default=None)


@message
class TitledItems(Model):
    """The values of a choice of several, with titles."""

    since = R2025_11_25

    any_of: List[EnumOption]


@message
class TitledMultiSelectEnumSchema(Model):
    """A choice of some of several values that have titles. [2025-11-25.. client/elicitation §Requested Schema]"""

    since = R2025_11_25

    type: str = field(init=False, default="array")
    items: TitledItems
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    min_items: Optional[int] = member(default=None)
    max_items: Optional[int] = member(default=None)
    default: Optional[List[str]] = member(default=None)


@message
class LegacyTitledEnumSchema(Model):
    """Titles in a list beside the values, the only way in 2025-06-18.

    [2025-06-18 client/elicitation §Supported Schema Types]
    """

    since = R2025_06_18

    type: str = field(init=False, default="string")
    enum: List[str]
    title: Optional[str] = member(default=None)
    description: Optional[str] = member(default=None)
    enum_names: Optional[List[str]] = member(default=None)
    default: Optional[str] = member(default=None, since=R2025_11_25)


SingleSelectEnumSchema = Union[UntitledSingleSelectEnumSchema, TitledSingleSelectEnumSchema]
MultiSelectEnumSchema = Union[UntitledMultiSelectEnumSchema, TitledMultiSelectEnumSchema]
EnumSchema = Union[SingleSelectEnumSchema, MultiSelectEnumSchema, LegacyTitledEnumSchema]
PrimitiveSchemaDefinition = Union[StringSchema, NumberSchema, BooleanSchema, EnumSchema]

tell_apart(
    Mark(TitledMultiSelectEnumSchema, "items.anyOf"),
    Mark(UntitledMultiSelectEnumSchema, "items"),
    Mark(TitledSingleSelectEnumSchema, "oneOf"),
    Mark(LegacyTitledEnumSchema, "enumNames"),
    Mark(UntitledSingleSelectEnumSchema, "enum"),
    Mark(StringSchema, "type", "string"),
    Mark(NumberSchema, "type", "number"),
    Mark(NumberSchema, "type", "integer"),
    Mark(BooleanSchema, "type", "boolean"),
)


@message
class RequestedSchema(Model):
    """The whole form. [2025-11-25.. client/elicitation §Requested Schema]"""

    since = R2025_06_18

    type: str = field(init=False, default="object")
    properties: Dict[str, PrimitiveSchemaDefinition]
    required: Optional[List[str]] = member(default=None)
    dialect: Optional[str] = member(default=None, since=R2025_11_25)


# -- Request -----------------------------------------------------------------------------------


@message
class ElicitRequestFormParams(Model):
    """A form to fill in. [2025-11-25.. client/elicitation §Form Mode Elicitation Requests]"""

    since = R2025_06_18

    message: str
    requested_schema: RequestedSchema
    mode: Optional[Literal["form"]] = member(default=None, since=R2025_11_25)
    task: Optional[TaskMetadata] = member(default=None, since=R2025_11_25, until=R2025_11_25)
    meta: Optional[MetaObject] = member(default=None, until=R2025_11_25, shape=RequestMetaObject)


@message
class ElicitRequestURLParams(Model):
    """A link to follow. [2025-11-25.. client/elicitation §URL Mode Elicitation Requests]"""

    since = R2025_11_25

    mode: str = field(init=False, default="url")
    message: str
    url: str
    elicitation_id: Optional[str] = member(default=None, until=R2025_11_25, required=((None, None),))
    task: Optional[TaskMetadata] = member(default=None, until=R2025_11_25)
    meta: Optional[MetaObject] = member(default=None, until=R2025_11_25, shape=RequestMetaObject)


ElicitRequestParams = Union[ElicitRequestFormParams, ElicitRequestURLParams]
tell_apart(
    Mark(ElicitRequestURLParams, "mode", "url"),
    Mark(ElicitRequestFormParams, "mode", "form"),
    Mark(ElicitRequestFormParams, "requestedSchema"),
)


# -- Result ------------------------------------------------------------------------------------

ElicitedValue = Union[str, int, float, bool]


@message
class ElicitResult(Model):
    """The answer of a user. [2025-06-18.. client/elicitation §Response Actions]"""

    since = R2025_06_18

    action: Literal["accept", "decline", "cancel"]
    content: Optional[Dict[str, Union[ElicitedValue, List[str]]]] = member(
        default=None, was=((R2025_06_18, Dict[str, ElicitedValue]),))
    """The values that the user entered; only in an accepted form."""
    meta: Optional[MetaObject] = member(default=None, until=R2025_11_25)


# -- Notification and error of 2025-11-25 ------------------------------------------------------


@message
class ElicitationCompleteNotificationParams(Model):
    """The user has finished at the URL of a link.

    [2025-11-25 client/elicitation §Completion Notifications for URL Mode Elicitation]
    """

    since = until = R2025_11_25

    elicitation_id: str
    meta: Optional[MetaObject] = notification_meta()


@message
class URLElicitationRequiredErrorData(Model):
    """The ``data`` of error -32042. [2025-11-25 client/elicitation §URL Elicitation Required Error]"""

    since = until = R2025_11_25

    elicitations: List[ElicitRequestURLParams]
