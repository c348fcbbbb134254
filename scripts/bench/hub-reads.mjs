// Memory of a process of a hub while many callers read large answers at once. Options: --rows=N of the table,
// --readers=N at a time, --rounds=N; BENCH_PROGRAM names another build.
import { LOADER, MAPS } from '../api-paths.mjs'
import { statusMb } from '../proc.mjs'
import { startHub, withEngines } from './hub-engines.mjs'
import { option } from './options.mjs'

const CALL_ROWS = 2000
const NOTE = 'n'.repeat(100)

export const run = () =>
  withEngines(async (owner) => {
    const hub = await startHub(owner)
    const rows = option('rows', 10_000)
    await fill(hub, rows)
    const before = statusMb(hub.pid, 'VmHWM')
    const counts = { whole: 0, busy: 0, bytes: 0 }
    for (let round = 0; round < option('rounds', 5); round++)
      await Promise.all(Array.from({ length: option('readers', 20) }, () => read(hub, rows, counts)))
    console.log(`${option('readers', 20)} readers of ${rows} features at once, ${counts.bytes} bytes each`)
    console.log(`answers                   ${counts.whole} whole, ${counts.busy} refused with BUSY`)
    console.log(
      `hub process               ${before.toFixed(0)} MB RSS before, ${statusMb(hub.pid, 'VmHWM').toFixed(0)} MB at most (256 asked)`,
    )
  })

function call({ url, headers }, at, method, params) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
  return fetch(`${url}${at}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
  })
}

async function fill(hub, rows) {
  const record_def = { k: { udt_name: 'int4' }, note: { udt_name: 'text' } }
  await call(hub, LOADER, 'loaderwebapi.register_loader', {
    ...{ data_name: 'seen', record_def, unique_columns: ['k'] },
  })
  for (let first = 0; first < rows; first += CALL_ROWS) {
    const record_set = Array.from({ length: Math.min(CALL_ROWS, rows - first) }, (_, at) => ({
      ...{ type: 'Feature', geometry: { type: 'Point', coordinates: [139 + at / 1e5, 35] } },
      properties: { k: first + at, note: NOTE },
    }))
    const response = await call(hub, LOADER, 'loaderwebapi.add_record', { data_name: 'seen', record_set })
    if (response.status !== 200) throw new Error(`rows were refused with ${response.status}`)
  }
}

/** Reads all features, piece by piece. */
async function read(hub, rows, counts) {
  const query = { type: 'Feature', geometry: null, properties: { table: 'seen' } }
  const response = await call(hub, MAPS, 'mapserv.eventdata', [query])
  const text = await response.text()
  if (response.status === 503) counts.busy++
  else if (text.split('"type":"Feature"').length - 1 === rows) {
    counts.whole++
    counts.bytes = text.length
  } else throw new Error(`found an answer of ${text.length} bytes with status ${response.status}`)
}
