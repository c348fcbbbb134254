import t from 'tap'
import { loadConfig } from '../../src/config/config.js'
import { callDeps } from '../../src/gateway/calls.js'
import { createRefusalSampler } from '../../src/gateway/health/refusals.js'
import { createLog } from '../../src/log.js'

t.test('calls: lines of failed calls are sampled, those of damage are all written', async (t) => {
  const loaded = loadConfig(null, {}, {})
  if ('faults' in loaded) throw new Error(JSON.stringify(loaded.faults))
  const lines: { msg: string; requestId?: string }[] = []
  const log = createLog('info', { write: (line) => lines.push(JSON.parse(line)) })
  const refusals = createRefusalSampler(log, 2)
  const { config } = loaded
  const rest = { version: '1', stores: {}, apis: [], metrics: {}, stopSignal: new AbortController().signal }
  // no call is made: the hooks use the log and the sampler alone
  const { onFault } = callDeps({ config, log, refusals, ...rest } as unknown as Parameters<
    typeof callDeps
  >[0])
  const failing = Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_WRITE' })
  const damaged = Object.assign(new Error('malformed'), { code: 'SQLITE_CORRUPT' })
  for (let call = 0; call < 5; call++) onFault(`failing-${call}`, 'a.b', failing)
  for (let call = 0; call < 3; call++) onFault(`damaged-${call}`, 'a.b', damaged)
  refusals.stop()
  t.same(
    lines.map(({ msg, requestId }) => requestId ?? msg),
    [
      ...['failing-0', 'failing-1', 'damaged-0', 'damaged-1', 'damaged-2'],
      '3 more calls that failed in the last minute (log.refusalsPerMinute)',
    ],
  )
})
