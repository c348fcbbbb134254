import t from 'tap'
import { openWriteHints } from '../../../../src/storage/postgres/connection/write-hints.js'
import { until } from '../../../support/feeds.js'
import { makeDatabase, noPostgres, optionsFor, startServer } from '../../../support/postgres.js'

const skip = noPostgres()

t.test('hints: writes of a process reach the others, a flood of them as one', { skip }, async (t) => {
  const server = await startServer(t)
  const database = await makeDatabase(server)
  const sessions = async () =>
    (
      await server.admin<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE datname = '${database}' AND application_name = 'fieldgate-hints'`,
      )
    ).map(({ pid }) => pid)
  const faults: string[] = []
  const open = (name: string, schema = 'fieldgate') => {
    const options = optionsFor([server.host], database, { schema })
    const hints = openWriteHints({ ...options, onFault: ({ message }) => void faults.push(message) }, name)
    t.teardown(() => hints.close())
    const heard = { times: 0 }
    const end = hints.watch(() => {
      heard.times++
    })
    return { hints, heard, end }
  }
  const [one, two, foreign] = [open('one'), open('two'), open('two', 'another_hub')]
  const opened = (parts: (typeof one)[]) =>
    until(
      async () => parts.map(({ heard }) => heard.times),
      (times) => times.every((each) => each > 0),
    )
  await opened([one, two, foreign]) // each calls its listeners once it listens
  t.equal((await sessions()).length, 3, 'one connection each')

  const before = { own: one.heard.times, other: two.heard.times, foreign: foreign.heard.times }
  for (let write = 0; write < 1000; write++) one.hints.tell()
  t.equal(one.heard.times, before.own + 1000, 'listeners of the process itself are called at once')
  const heardTimes = (least: number) =>
    until(
      async () => two.heard.times,
      (times) => times >= least,
    )
  await heardTimes(before.other + 1)
  one.hints.tell()
  await heardTimes(before.other + 2)
  t.equal(two.heard.times, before.other + 2, 'a notification for all writes of the flood, one for the last')
  t.equal(one.heard.times, before.own + 1001, 'a process does not hear itself')
  t.equal(foreign.heard.times, before.foreign, 'hubs of other schemas hear nothing')

  const old = await sessions()
  const known = two.heard.times
  await server.admin(old.map((pid) => `SELECT pg_terminate_backend(${pid})`).join(';'))
  await until(sessions, (pids) => pids.length === 3 && pids.every((pid) => !old.includes(pid)))
  await heardTimes(known + 1)
  t.match(faults, [/the connection has ended|terminat/], 'a loss is reported')
  one.hints.tell()
  await heardTimes(known + 2)

  two.end()
  const last = two.heard.times
  two.hints.tell()
  t.equal(two.heard.times, last, 'a listener that has ended is called no more')
  await two.hints.close()
  await until(sessions, (pids) => pids.length === 2)
})
