import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { startGateway } from '../support/start-gateway.js'

t.test('left overs: processes and directories of an earlier gateway are removed at the start', async (t) => {
  const dataDir = path.join(t.testdir(), 'data')
  const [runId, sessionId] = [randomUUID(), randomUUID()]
  const run = path.join(dataDir, 'dataproc/runs', runId)
  const session = path.join(dataDir, 'dataproc/sessions', sessionId, 'm')
  for (const dir of [run, session]) mkdirSync(dir, { recursive: true })
  writeFileSync(path.join(session, 'kept'), 'x')
  const child = spawn('sleep', ['1000'], { env: { DATAPROC_RUN_ID: runId }, detached: true, stdio: 'ignore' })
  const stranger = spawn('sleep', ['1000'], { env: { DATAPROC_RUN_ID: randomUUID() }, stdio: 'ignore' })
  t.teardown(() => stranger.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const gateway = await startGateway(t, { dataDir })
  t.same(await ended, [null, 'SIGKILL'])
  t.equal(stranger.exitCode, null, 'a run of another gateway goes on')
  t.notOk(existsSync(run))
  t.same(readdirSync(path.join(dataDir, 'dataproc/sessions')), [])
  t.match(
    gateway.logLines.find(({ msg }) => String(msg).includes('earlier gateway')),
    { runs: 1, leftProcesses: 0 },
  )
})
