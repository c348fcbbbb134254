/** Flags `--name value` with defaults; numbers stay numbers. */
export function readFlags(defaults) {
  const flags = { ...defaults }
  const argv = process.argv.slice(2)
  for (let i = 0; i < argv.length; i += 2) {
    const name = argv[i].replace(/^--/, '')
    if (!(name in defaults))
      throw new Error(`unknown flag --${name}: expected ${Object.keys(defaults).join(', ')}`)
    flags[name] = typeof defaults[name] === 'number' ? Number(argv[i + 1]) : argv[i + 1]
  }
  return flags
}

/** Prints the outcome as one line of JSON, and fails the process when something is wrong. */
export function report(name, facts, faults) {
  console.log(
    JSON.stringify({
      test: name,
      ok: faults.length === 0,
      ...facts,
      faults: faults.slice(0, 20),
      faultCount: faults.length,
    }),
  )
  if (faults.length > 0) process.exitCode = 1
}
