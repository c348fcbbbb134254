import t from 'tap'
import type { CheckContext } from '../../src/doctor/finding.js'
import { checkTriggers } from '../../src/doctor/triggers.js'
import { createKeyring } from '../../src/storage/keyring.js'
import { openDatabase } from '../../src/storage/sqlite/connection/database.js'
import { readTriggers } from '../../src/storage/sqlite/maintenance/trigger-facts.js'
import { openState } from '../../src/storage/sqlite/state.js'
import type { TriggerRunFacts } from '../../src/storage/triggers.js'

t.test('doctor: triggers that failed or missed starts are told', async (t) => {
  const state = await openState(':memory:', { keyring: createKeyring(new Uint8Array(32)) })
  t.teardown(() => state.close())
  const { triggers, stateDb } = state
  const nowUs = state.clock.nowUs()
  const facts = { triggers: async (_dir: string, sinceUs: number) => readTriggers(stateDb.db, sinceUs) }
  const context = { layout: { root: '' }, maintenance: { facts }, nowUs } as unknown as CheckContext
  const find = async () =>
    (await checkTriggers(context)).map(({ state: level, message }) => `${level}: ${message}`)
  t.same(await find(), ['ok: no trigger has been made'])
  t.same(readTriggers(openDatabase(':memory:', []), 0), [], 'a database of an earlier schema has none')
  const make = (name: string, isEnabled = true) =>
    triggers.create({
      ...{ name, on: { kind: 'startup' }, call: '{}', overlap: 'queue', retries: 0, retryWaitS: 0, waitS: 0 },
      ...{ isEnabled, keyId: 'k', keyName: 'k', createdAtUs: nowUs, mark: null },
    })
  for (const name of ['a', 'b']) await make(name)
  await make('off', false)
  t.same(await find(), ['ok: 2 of 3 triggers are enabled, and none has failed'])
  const seq = await triggers.begin(
    { trigger: 'a', dueAtUs: nowUs, startedAtUs: nowUs, interruptions: 0 },
    null,
  )
  const failed: TriggerRunFacts = {
    ...{ state: 'failed', endedAtUs: nowUs, attempts: 1, runId: null, exitCode: 3, error: 'MODULE_FAILED' },
    ...{ message: 'it ended with exit code 3', lastLines: null },
  }
  await triggers.note(seq, failed)
  const missed = { trigger: 'b', state: 'missed' as const, message: null, count: 4 }
  await triggers.tell({ ...missed, dueAtUs: nowUs - 10, untilUs: nowUs }, null)
  await triggers.tell({ ...missed, dueAtUs: 0, untilUs: 1, trigger: 'a' }, null)
  t.match(await find(), [
    ...[
      /^error: the trigger a failed at .*exit code 3/,
      /^warning: the trigger b missed 4 starts within a week/,
    ],
  ])
})
