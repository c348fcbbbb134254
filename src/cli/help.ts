import type { Command } from 'commander'
import { usageError } from './io.js'

/** Name of the verb that tells how others are called. */
export const HELP = 'help'

/** Puts `help [verb…]` below the program and below every verb that has verbs of its own. */
export function addHelpVerbs(command: Command): void {
  for (const child of command.commands) if (child.commands.length > 0) addHelpVerbs(child)
  command
    .helpCommand(false) // commander's own says nothing of a verb that is not there
    .command(HELP)
    .description('how a verb is called')
    .argument('[verb...]')
    .action((words: string[]) => findVerb(command, words).help())
}

/** @throws CommanderError that names what was found, and the verbs that it may have been meant to be */
function findVerb(command: Command, words: readonly string[]): Command {
  const [word, ...rest] = words
  if (word === undefined) return command
  const found = command.commands.find((child) => child.name() === word)
  if (found !== undefined) return findVerb(found, rest)
  const names = command.commands.map((child) => child.name()).filter((name) => name !== HELP)
  const place = command.parent === null ? '' : ` of ${command.name()}`
  const shown = JSON.stringify(word.slice(0, 40))
  if (names.length === 0) throw usageError(`${command.name()} has no verbs of its own, found ${shown}`)
  const close = names.filter((name) => isClose(word, name))
  const advice =
    close.length > 0 ? `did you mean ${close.join(' or ')}?` : `expected one of ${names.join(', ')}`
  throw usageError(`no verb${place} is named ${shown}: ${advice}`)
}

/** One begins with the other, or a third of the letters at most differ. */
function isClose(word: string, name: string): boolean {
  const typed = word.toLowerCase()
  if (typed.length > 1 && (name.startsWith(typed) || typed.startsWith(name))) return true
  return editDistance(typed, name) <= Math.max(1, Math.floor(name.length / 3))
}

/** Letters to put in, take out or change, by the row-wise scheme of Wagner and Fischer, 1974. */
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
