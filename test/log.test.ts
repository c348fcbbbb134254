import t from 'tap'
import { AppError } from '../src/errors.js'
import { createLog, type LogLevel } from '../src/log.js'

function logTo(level: LogLevel = 'debug') {
  const lines: string[] = []
  return { log: createLog(level, { write: (line) => lines.push(line) }), lines }
}

const HUSH = 'fgs_do-not-tell'

t.test('log: one JSON line per event, with time, level and message', async (t) => {
  const { log, lines } = logTo()
  log.info({ requestId: 'r-1', path: '/x' }, 'hello\nworld')
  t.equal(lines.length, 1)
  t.equal(lines[0]?.split('\n').length, 2, 'one line break, at the end')
  t.match(JSON.parse(lines[0] ?? ''), { level: 'info', requestId: 'r-1', path: '/x', msg: 'hello\nworld' })
  t.match(JSON.parse(lines[0] ?? '').time, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
})

t.test('log: secrets never reach a line', async (t) => {
  const { log, lines } = logTo()
  const fields: object[] = [
    { secret: HUSH },
    { token: HUSH },
    { access_token: HUSH },
    { upstream_secret: HUSH },
    { authorization: HUSH },
    { key: { secret: HUSH, token: HUSH } },
    { params: { access_token: HUSH, upstream_secret: HUSH } },
    { headers: { secret: HUSH, apikey: HUSH, authorization: HUSH, cookie: HUSH, 'svc-session-token': HUSH } },
  ]
  for (const field of fields) log.info(field, 'x')
  log.child({ secret: HUSH }).warn({ token: HUSH }, 'y')
  for (const line of lines) t.notMatch(line, HUSH)
  t.match(lines[0], /"secret":"\[secret\]"/)
})

t.test('log: lines below the level are not written, silent writes none', async (t) => {
  const warn = logTo('warn')
  warn.log.info({}, 'no')
  warn.log.warn({}, 'yes')
  t.equal(warn.lines.length, 1)
  const silent = logTo('silent')
  silent.log.error({}, 'no')
  t.equal(silent.lines.length, 0)
})

t.test('log: an error is told with its stack and its cause', async (t) => {
  const { log, lines } = logTo()
  log.error({ err: new AppError('BUSY', {}, { cause: new Error('inner') }) }, 'x')
  const { err } = JSON.parse(lines[0] ?? '')
  t.match(err, { type: 'AppError', stack: /inner/ })
})
