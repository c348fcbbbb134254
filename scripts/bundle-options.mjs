// What every bundle of the program has in common.
import { readFileSync } from 'node:fs'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

export const BUNDLE_OPTIONS = {
  bundle: true,
  platform: 'node',
  target: 'node20', // an older Node must reach the version check and print one clear line
  format: 'cjs',
  minify: true,
  keepNames: false,
  legalComments: 'none',
  charset: 'ascii', // V8 keeps the source in memory, at one byte a character
  define: { __FIELDGATE_VERSION__: JSON.stringify(version) },
  logLevel: 'warning',
}

/**
 * Escapes what `charset` leaves: characters in regular expressions and templates. One beyond Latin-1 would make V8 keep
 * the whole source at two bytes a character.
 */
export function escapeRest(source) {
  return source.replace(
    /[\u0080-\uffff]/g, // each half of a character beyond 16 bits for itself
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
