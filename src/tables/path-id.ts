import { randomBytes } from 'node:crypto'
import { PATH_ID_CHARS } from './record-def-files.js'

/** A path id for a file that comes without one. */
export function newPathId(): string {
  return randomBytes(PATH_ID_CHARS / 2).toString('hex')
}
