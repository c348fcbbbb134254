import pino from 'pino'

/** One JSON line per event on stderr's descriptor (2) unless told otherwise; stdout belongs to `--json` facts. */
export type Log = Pick<pino.Logger, 'debug' | 'info' | 'warn' | 'error'> & { child(fields: object): Log }

export type LogLevel = 'debug' | 'info' | 'warn' | 'error' | 'silent'

/** Fields whose values never reach a log line. Headers go as a whole: the name of the session's header is a setting. */
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
 * Opens the log. Lines are written synchronously: a line that was logged is there after a crash, at 2 µs each.
 *
 * @param destination a file descriptor, or anything with `write` (tests)
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
