// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include "base/text.h"

namespace plumb {
namespace {

// A word in single quotes, for any of the shells.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return out + "'";
}

std::vector<std::string> words_of(const CompletionNode& node) {
  std::vector<std::string> words = node.commands;
  words.insert(words.end(), node.model_names.begin(), node.model_names.end());
  words.insert(words.end(), node.word_choices.begin(), node.word_choices.end());
  for (const CompletionNode::Flag& flag : node.flags) {
    words.push_back(flag.name);
  }
  return words;
}

// The lines of a case statement: what each command offers, and what each flag's value may be.
std::string bash_cases(const std::vector<CompletionNode>& nodes) {
  std::string words;
  std::string values;
  for (const CompletionNode& node : nodes) {
    words += "    " + shell_quoted(node.path) +
             ") words=" + shell_quoted(join(words_of(node), " ")) + " ;;\n";
    for (const CompletionNode::Flag& flag : node.flags) {
      if (flag.takes_value) {
        values += "    " + shell_quoted(node.path + ":" + flag.name) +
                  ") words=" + shell_quoted(join(flag.choices, " ")) + "; is_value=1 ;;\n";
      }
    }
  }
  return "  case \"$path\" in\n" + words + "  esac\n  case \"$path:$previous\" in\n" + values +
         "  esac\n";
}

// Words that name commands, so that flags and their values in between do not count.
std::string bash_walk(const std::vector<CompletionNode>& nodes) {
  std::string known;
  for (const CompletionNode& node : nodes) {
    known += (known.empty() ? "" : "|") +
             (node.path.empty() ? std::string("''") : shell_quoted(node.path));
  }
  return "  local path= i candidate\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    candidate=\"${path:+$path }${COMP_WORDS[i]}\"\n"
         "    case \"$candidate\" in " +
         known + ") path=\"$candidate\" ;; esac\n  done\n";
}

std::string bash_script(const std::vector<CompletionNode>& nodes) {
  return "# bash completion for plumb; load it with: source <(plumb completion bash)\n"
         "_plumb() {\n"
         "  local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
         "  local words= is_value=\n" +
         bash_walk(nodes) + bash_cases(nodes) +
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  if [[ ${#COMPREPLY[@]} -eq 0 && $current != -* && -n $path ]]; then\n"
         "    [[ -n $is_value && -n $words ]] || COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _plumb plumb\n";
}

// zsh runs bash completions through its own emulation, which needs its completion system started.
std::string zsh_script(const std::vector<CompletionNode>& nodes) {
  return "# zsh completion for plumb; load it with: source <(plumb completion zsh)\n"
         "(( $+functions[compdef] )) || { autoload -U compinit && compinit }\n"
         "autoload -U +X bashcompinit && bashcompinit\n" +
         bash_script(nodes);
}

std::string fish_condition(const CompletionNode& node) {
  if (node.path.empty()) {
    return "__fish_use_subcommand";
  }
  std::string condition;
  for (const std::string_view word : split(node.path, ' ')) {
    condition +=
        (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + std::string(word));
  }
  if (!node.commands.empty()) {
    condition += "; and not __fish_seen_subcommand_from " + join(node.commands, " ");
  }
  return condition;
}

std::string fish_node(const CompletionNode& node) {
  const std::string head = "complete -c plumb -n " + shell_quoted(fish_condition(node));
  std::string out;
  for (std::size_t i = 0; i < node.commands.size(); ++i) {
    out += head + " -f -a " + shell_quoted(node.commands[i]) + " -d " +
           shell_quoted(node.command_abouts[i]) + "\n";
  }
  if (!node.model_names.empty()) {
    out += head + " -a " + shell_quoted(join(node.model_names, " ")) + "\n";
  }
  if (!node.word_choices.empty()) {
    out += head + " -f -a " + shell_quoted(join(node.word_choices, " ")) + "\n";
  }
  for (const CompletionNode::Flag& flag : node.flags) {
    out += head + " -l " + flag.name.substr(2) + (flag.takes_value ? " -r" : "") +
           (flag.choices.empty() ? "" : " -f -a " + shell_quoted(join(flag.choices, " "))) +
           " -d " + shell_quoted(flag.about) + "\n";
  }
  return out;
}

std::string fish_script(const std::vector<CompletionNode>& nodes) {
  std::string out = "# fish completion for plumb; load it with: plumb completion fish | source\n";
  for (const CompletionNode& node : nodes) {
    out += fish_node(node);
  }
  return out;
}

}  // namespace

std::string completion_script(std::string_view shell, const std::vector<CompletionNode>& nodes) {
  if (shell == "zsh") {
    return zsh_script(nodes);
  }
  return shell == "fish" ? fish_script(nodes) : bash_script(nodes);
}

}  // namespace plumb
