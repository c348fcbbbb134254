import path from 'node:path'

const READERS = {
  number: (text) => Number(text),
  text: (text) => text ?? '',
  path: (text) => path.resolve(text ?? ''),
  /** `--name` alone */
  flag: () => true,
}

/**
 * Returns the options of the command line, `--name=value`, that were given. Ends the program with exit code 2
 * when one is unknown.
 *
 * @param program name in the message
 * @param kinds name → `number`, `text`, `path` or `flag`
 */
export function readOptions(program, kinds) {
  const given = process.argv.slice(2).map((word) => word.replace(/^--/, '').split('='))
  const unknown = given.map(([name]) => name).filter((name) => !Object.hasOwn(kinds, name))
  if (unknown.length > 0) {
    const known = Object.keys(kinds).map((name) => `--${name}`)
    console.error(`${program}: found ${unknown.join(', ')}, expected any of ${known.join(', ')}`)
    process.exit(2)
  }
  return Object.fromEntries(given.map(([name, text]) => [name, READERS[kinds[name]](text)]))
}
