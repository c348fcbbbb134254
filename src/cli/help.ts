import type { Command } from 'commander'
import { usageError } from './io.js'

/** Name of the verb that prints the usage of others. */
export const HELP = 'help'

/** Adds `help [verb…]` to the program and to every verb with sub-verbs. */
export function addHelpVerbs(command: Command): void {
  for (const child of command.commands) if (child.commands.length > 0) addHelpVerbs(child)
  command
    .helpCommand(false) // commander's own prints nothing for an unknown verb
    .command(HELP)
    .description('prints the usage of a verb')
    .argument('[verb...]')
    .action((words: string[]) => findVerb(command, words).help())
}

/** @throws CommanderError that names the unknown verb, and similar ones */
function findVerb(command: Command, words: readonly string[]): Command {
  const [word, ...rest] = words
  if (word === undefined) return command
  const found = command.commands.find((child) => child.name() === word)
  if (found !== undefined) return findVerb(found, rest)
  const names = command.commands.map((child) => child.name()).filter((name) => name !== HELP)
  const place = command.parent === null ? '' : ` of ${command.name()}`
  const shown = JSON.stringify(word.slice(0, 40))
  if (names.length === 0) throw usageError(`${command.name()} has no sub-verbs, found ${shown}`)
  const close = names.filter((name) => isClose(word, name))
  const advice =
    close.length > 0 ? `did you mean ${close.join(' or ')}?` : `expected one of ${names.join(', ')}`
  throw usageError(`no verb${place} is named ${shown}: ${advice}`)
}

/** Returns true when one begins with the other, or at most a third of the letters differ. */
function isClose(word: string, name: string): boolean {
  const typed = word.toLowerCase()
  if (typed.length > 1 && (name.startsWith(typed) || typed.startsWith(name))) return true
  return editDistance(typed, name) <= Math.max(1, Math.floor(name.length / 3))
}

/**
 * Levenshtein distance, computed row by row.
 *
 * @see R. A. Wagner and M. J. Fischer, "The string-to-string correction problem", 1974
 */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const change = (row[j - 1] ?? 0) + (isSame ? 0 : 1)
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
