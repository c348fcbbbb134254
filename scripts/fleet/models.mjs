import { createHash } from 'node:crypto'
import { MODELS } from '../api-paths.mjs'
import { headersOf, nameOf, uuidOf } from './identity.mjs'
import { readResult } from './wire.mjs'

/** Bytes of a model of a gateway, the same each time. @param no 0 for its first model */
function bytesOf({ seed, 'model-bytes': outputLength }, index, no) {
  return createHash('shake256', { outputLength }).update(`${seed} ${index} ${no}`).digest()
}

/** Kind that the models of a gateway have, and no others. */
function kindOf({ seed }, index) {
  return `sim ${uuidOf(seed, index, 'node')}`
}

/** Sends the next model of a gateway. A repeat is known by its origin. @throws fault */
export async function putModel(world, gateway) {
  const { flags, wire, stats } = world
  const { index, models: no } = gateway
  const file = bytesOf(flags, index, no)
  const node = uuidOf(flags.seed, index, 'node')
  const data = {
    ...{ model_store_ddc: flags['model-store'], model_kind: kindOf(flags, index), model_description: '' },
    ...{ model_meta: {}, round: 0 },
    origin: { node, model_id: uuidOf(flags.seed, index, `model ${no}`), hop_count: 0, chain: [node] },
  }
  const boundary = 'fieldgate-simulated-model'
  const body = Buffer.concat([
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="data"\r\n\r\n${JSON.stringify(data)}\r\n` +
        `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="m"\r\n` +
        'Content-Type: application/octet-stream\r\n\r\n',
    ),
    file,
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  const headers = {
    ...headersOf(flags, gateway),
    ...{ 'content-type': `multipart/form-data; boundary=${boundary}`, 'content-length': body.length },
  }
  const path = `${MODELS}/upload/model_store.model.put_feedback`
  const { model_sha256 } = readResult(await wire.exchange(gateway, { method: 'POST', path, headers, body }))
  const expected = sha256(file)
  if (model_sha256 !== expected)
    world.fault(`${nameOf(index)}: found the digest ${model_sha256} of model ${no}, expected ${expected}`)
  gateway.models++
  stats.counts.models++
}

/** Compares the models of a gateway at the hub with those that it acknowledged: each once, with its bytes. */
export async function checkModels(world, gateway) {
  const { flags, wire } = world
  const { index, models } = gateway
  if (models === 0) return
  const headers = headersOf(flags, gateway)
  const params = {
    model_store_ddc: flags['model-store'],
    conds: { '=': ['model_kind', kindOf(flags, index)] },
  }
  const found = await wire.rpc(gateway, MODELS, 'model_store.model.get_info', params, headers)
  for (let no = 0; no < models; no++) {
    const wanted = sha256(bytesOf(flags, index, no))
    const same = found.filter(({ model_sha256 }) => model_sha256 === wanted)
    if (same.length !== 1)
      world.fault(`${nameOf(index)}: found model ${no} ${same.length} times at the hub, expected once`)
    const [model] = same
    if (model === undefined) continue
    const path = `/api/v2/model_store/models/${model.model_id}/file`
    const { status, body } = await wire.exchange(gateway, { method: 'GET', path, headers })
    if (status !== 200 || sha256(body) !== wanted)
      world.fault(`${nameOf(index)}: found other bytes of model ${no} at the hub (status ${status})`)
  }
  // one that was taken, and whose answer was lost, may be there as well
  if (found.length > models + 1)
    world.fault(`${nameOf(index)}: found ${found.length} models at the hub, expected ${models}`)
}

function sha256(bytes) {
  return createHash('sha256').update(bytes).digest('hex')
}
