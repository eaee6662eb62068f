# SPDX-License-Identifier: Apache-2.0
"""The class that the tests of several clients ask a model to fill."""

import typing

import pydantic

QUESTION = "What is the weather in Oslo?"


class Weather(pydantic.BaseModel):
    """The weather of a city."""
    city: typing.Literal["Oslo", "Rome"]
    days: int = pydantic.Field(ge=1, le=9)
