import { existsSync } from 'node:fs'
import path from 'node:path'
import { oneLine } from './io.js'

/** Texts for error codes of the file system. */
const TEXTS: Readonly<Record<string, string>> = {
  ENOENT: 'the file does not exist',
  ENOTDIR: 'the file does not exist',
  EISDIR: 'found a directory, expected a file',
  EACCES: 'this user has no permission to read the file',
}

/** Error of reading a file, with the name of the file and a plain text for common codes. */
export function fileFault(error: unknown, file: string): Error {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const text = oneLine(error)
  if (TEXTS[code] === undefined && text.includes(file) && error instanceof Error) return error
  return new Error(`${file}: ${TEXTS[code] ?? text}`, { cause: error })
}

/** Checks an output file before the work is done. @throws Error when its folder does not exist */
export function checkFolder(file: string, option = '--output'): void {
  const folder = path.dirname(file)
  if (!existsSync(folder)) throw new Error(`${option}: the folder ${folder} does not exist: create it first`)
}
