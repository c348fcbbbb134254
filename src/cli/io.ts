import { CommanderError } from 'commander'
import { messageOf } from '../errors.js'
import type { Log, LogLevel } from '../log.js'

/** A stream that text goes to; `isTTY` tells a screen, where a progress bar may be drawn, from a file or a pipe. */
export interface TextOut {
  write(text: string): unknown
  readonly isTTY?: boolean | undefined
  readonly columns?: number | undefined
}

/** What a verb may do to the world of its caller. Facts go to stdout, everything else to stderr. */
export interface CliIo {
  readonly stdout: TextOut
  readonly stderr: TextOut
  /** 0 ok, 1 failed, 2 wrong usage; the last one counts */
  setExitCode(code: number): void
}

/** What a verb takes from the world of its caller. */
export interface CliDeps {
  readonly env: Record<string, string | undefined>
  /** folder that relative paths of flags and of the environment are taken from */
  readonly cwd: string
  /** file that worker threads run: this program itself */
  readonly entryFile: string
  readonly version: string
  createLog(level: LogLevel): Log
  /** this process, which is there for months, gives back what it does not need */
  keepHeapSmall(): void
  /** files made from now on are readable by this user alone */
  makeFilesPrivate(): void
  /** @returns stops listening */
  onSignal(signal: 'SIGINT' | 'SIGTERM' | 'SIGHUP', act: () => void): () => void
}

/** Options that every verb takes, before or after its name. Read them with `command.optsWithGlobals()`. */
export interface GlobalOptions {
  config?: string
  dataDir?: string
  json?: boolean
}

/** A fault in how the program was called, found after the arguments were parsed: one line on stderr, exit 2. */
export function usageError(message: string): CommanderError {
  return new CommanderError(2, 'fieldgate.usage', message)
}

/** The message of anything that was thrown, in one line of at most 1000 characters and without control characters. */
export function oneLine(error: unknown): string {
  const text = messageOf(error)
    .replace(/^error: /, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: exactly these must not reach a terminal
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ')
    .trim()
  return text.length > 1000 ? `${text.slice(0, 1000)}…` : text
}

/** A fact for scripts: one line of JSON on stdout. */
export function printJson(io: CliIo, fact: unknown): void {
  io.stdout.write(`${JSON.stringify(fact)}\n`)
}
