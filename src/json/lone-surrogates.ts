import { AppError } from '../errors.js'

/*
 * JSON can escape half of a character beyond U+FFFF ("\\ud800"). UTF-8 cannot hold it, so no body with one is accepted, whatever
 * its size and by whichever path it comes.
 */

/**
 * Finds text that is not well-formed Unicode. Costs one search of the text when it has no such escape.
 *
 * @param text JSON text of the value
 * @param path path of the value
 * @returns path of the first such string or key; undefined when there is none
 */
export function loneSurrogateAt(text: string, value: unknown, path: string): string | undefined {
  return /\\u[dD][89a-fA-F]/.test(text) ? search(value, path) : undefined
}

function search(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return value.isWellFormed() ? undefined : path
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const found = search(item, `${path}[${index}]`)
      if (found !== undefined) return found
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) {
      const found = key.isWellFormed() ? search(item, `${path}.${key}`) : `${path} (a key)`
      if (found !== undefined) return found
    }
  }
  return undefined
}

/** Longest path in an error, characters. */
const MAX_PATH = 200

/** Makes the error for a lone surrogate at a path. */
export function loneSurrogate(path: string): AppError {
  const shown = path.length > MAX_PATH ? `${path.slice(0, MAX_PATH - 1).toWellFormed()}…` : path
  return new AppError(
    'INVALID_REQUEST',
    { path: shown },
    { message: `Found a lone surrogate at ${shown}, expected well-formed Unicode` },
  )
}
