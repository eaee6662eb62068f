# SPDX-License-Identifier: Apache-2.0
"""Conversations that exercise chat templates, as the variables a template is rendered with."""

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Current weather <at> a \"place\" & time.\nSecond line.",
        "parameters": {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "City name, e.g. Zürich"},
                "days": {"type": "integer", "minimum": 1, "default": 3},
                "units": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                "options": {"type": "object", "properties": {"wind": {"type": "boolean"}}},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["city"],
        },
    },
}
NO_ARGUMENTS = {
    "type": "function",
    "function": {"name": "now", "description": "The time.",
                 "parameters": {"type": "object", "properties": {}}},
}
BASE = {"tools": None, "documents": None, "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
        "pad_token": "<pad>", "add_generation_prompt": True}


def conversation(messages, **more):
    return {**BASE, "messages": messages, **more}


def call(name, arguments, call_id="call12345"):
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def text_part(text):
    return {"type": "text", "text": text}


CONVERSATIONS = {
    "single": conversation([{"role": "user", "content": "Hello, who are you?"}]),
    "system_turns": conversation([
        {"role": "system", "content": "  You are terse.\nAnswer in one line.  "},
        {"role": "user", "content": " Hi! "},
        {"role": "assistant", "content": "Hello <b>you</b> & all.\n"},
        {"role": "user", "content": "Smile: 🦙 \u00a0é\u2028end"},
    ]),
    "no_generation_prompt": conversation([
        {"role": "user", "content": "1+1?"},
        {"role": "assistant", "content": "2"},
    ], add_generation_prompt=False),
    "tools_offered": conversation([
        {"role": "system", "content": "Use tools."},
        {"role": "user", "content": "Weather in Zürich?"},
    ], tools=[WEATHER, NO_ARGUMENTS]),
    "tool_round_trip": conversation([
        {"role": "user", "content": "Weather in Bern?"},
        {"role": "assistant", "content": "", "tool_calls": [
            call("get_weather", {"city": "Bern", "days": 2, "ratio": 0.5, "deep": {"a": [1, None, True]}})]},
        {"role": "tool", "name": "get_weather", "tool_call_id": "call12345", "content": "{\"temp\": 21.5}"},
        {"role": "assistant", "content": "It is 21.5 degrees."},
        {"role": "user", "content": "Thanks"},
    ], tools=[WEATHER]),
    "parallel_tools": conversation([
        {"role": "user", "content": "Both, please"},
        {"role": "assistant", "content": "Looking.", "tool_calls": [
            call("get_weather", {"city": "A"}, "callaaaaa"), call("now", {}, "callbbbbb")]},
        {"role": "tool", "name": "get_weather", "tool_call_id": "callaaaaa", "content": "sunny"},
        {"role": "tool", "name": "now", "tool_call_id": "callbbbbb", "content": "12:00"},
    ], tools=[WEATHER, NO_ARGUMENTS]),
    "reasoning": conversation([
        {"role": "user", "content": "Think"},
        {"role": "assistant", "reasoning_content": "First,\nthen.", "thinking": "First,\nthen.",
         "content": "Done."},
        {"role": "user", "content": "Again"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes."},
        {"role": "user", "content": "And more"},
    ], enable_thinking=True, thinking=True, reasoning_effort="high"),
    "no_thinking": conversation([
        {"role": "system", "content": "/no_think"},
        {"role": "user", "content": "Quick"},
    ], enable_thinking=False, thinking=False, reasoning_effort="low"),
    "parts": conversation([
        {"role": "system", "content": [text_part("Be kind.")]},
        {"role": "user", "content": [text_part("What is "), text_part("this?")]},
        {"role": "assistant", "content": [text_part("A test.")]},
        {"role": "user", "content": [text_part("Sure?")]},
    ]),
    "image": conversation([
        {"role": "user", "content": [{"type": "image"}, text_part("What is this?")]},
    ]),
    "string_arguments": conversation([
        {"role": "user", "content": "Go"},
        {"role": "assistant", "tool_calls": [call("now", "{\"zone\": \"UTC\"}")]},
        {"role": "tool", "tool_call_id": "call12345", "content": "ok"},
    ], tools=[NO_ARGUMENTS]),
    "developer": conversation([
        {"role": "developer", "content": "Rules first."},
        {"role": "user", "content": "Hi"},
    ]),
    "wrong_order": conversation([
        {"role": "assistant", "content": "I start."},
        {"role": "assistant", "content": "And go on."},
        {"role": "system", "content": "Late system."},
        {"role": "user", "content": "Hm"},
        {"role": "user", "content": "Hm!"},
    ]),
    "documents": conversation([
        {"role": "user", "content": "Summarize"},
    ], documents=[{"title": "T", "text": "Body text", "doc_id": "1"}], date_string="1 Jan 2025"),
    "empty": conversation([]),
}
