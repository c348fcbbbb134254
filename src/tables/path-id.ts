import { randomBytes } from 'node:crypto'

/** Length of the path ids that the gateway gives. */
export const PATH_ID_CHARS = 16

/** Returns a random path id for a file that comes without one. */
export function newPathId(): string {
  return randomBytes(PATH_ID_CHARS / 2).toString('hex')
}
