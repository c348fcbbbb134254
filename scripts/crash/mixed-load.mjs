// Writers of every kind against one gateway, and a ledger outside of what it acknowledged. A call whose
// answer never came may have happened or not, but only whole.
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { DATASET, LOADER, MAPS, MODELS, SESSION } from '../api-paths.mjs'
import { createRandom } from '../random.mjs'
import { ANSWER_MS, createModelBytes, put } from './models.mjs'
import { prepareTables } from './node.mjs'

const UPLOADS = '/api/v2/model_store/uploads'
const STORE = 'load'
/** Versions of a dataset row: later ones replace earlier ones, citations keep what they saw. */
const SET_ROWS = 200
/** Calls at once, more than the main thread stores itself. */
const CROWD = 40

/**
 * @param node of lib.mjs
 * @returns { prepare(), run(), stop(), check(isWhole), facts() }; `check` returns what is wrong
 */
export function createMixedLoad(node, { seed, maxBytes, writers = 6 }) {
  const random = createRandom(seed)
  const modelOf = createModelBytes(maxBytes, seed)
  /** calls of `add_record` by their number: 'sent', 'acknowledged' */
  const rows = new Map()
  const cited = new Map()
  const models = new Map()
  const deleted = new Set()
  const sessions = []
  const uploads = []
  /** dataset puts: the newest acknowledged version of each row, and the newest that was sent */
  const versions = { sent: 0, acknowledged: 0 }
  const facts = { acknowledged: 0, unanswered: 0 }
  /** calls that the gateway neither answered nor refused */
  const silent = []
  let newest = { rows: 0, models: 0 }
  let call = 0
  let isOver = false
  let running = []

  const kinds = [
    [6, addRows],
    [1, addInCrowd],
    [4, putRows],
    [1, cite],
    [3, putModel],
    [2, upload],
    [1, deleteModel],
    [1, openSession],
  ]
  const total = kinds.reduce((sum, [weight]) => sum + weight, 0)

  async function addRows() {
    const id = ++call
    const count = 1 + Math.floor(random() * 20)
    rows.set(id, { count, state: 'sent' })
    await node.rpc(LOADER, 'loaderwebapi.add_record', {
      data_name: 'mixed',
      record_set: Array.from({ length: count }, (_, part) => recordOf(id, part)),
    })
    rows.get(id).state = 'acknowledged'
  }

  /** Rows of one call: enough that a thread stores them. */
  async function addInCrowd() {
    const calls = await Promise.allSettled(Array.from({ length: CROWD }, addRows))
    const failed = calls.find(({ status }) => status === 'rejected')
    if (failed !== undefined) throw failed.reason
  }

  // one writer at a time, so that the order of acknowledgement is the order of versions
  let putting = Promise.resolve()
  function putRows() {
    const mine = putting.then(async () => {
      const version = ++versions.sent
      const records = Array.from({ length: SET_ROWS }, (_, i) => [i, version])
      await node.rpc(DATASET, 'dataset.record.put', {
        dataset_name: 'mixed_set',
        records,
        on_conflict: 'update',
      })
      versions.acknowledged = version
    })
    putting = mine.catch(() => undefined)
    return mine
  }

  async function cite() {
    const least = versions.acknowledged
    const { long_form } = await node.rpc(DATASET, 'dataset.citation.create', {
      citation_label: `at${++call}`,
      source: 'mixed_set',
    })
    cited.set(long_form, { least, most: versions.sent, version: undefined })
  }

  async function putModel() {
    const model = modelOf(sizeOf())
    const info = await put(node, { ...model, store: STORE })
    models.set(info.model_id, model)
  }

  function sizeOf() {
    return Math.round(1000 * (maxBytes / 1000) ** (random() ** 2))
  }

  async function upload() {
    const model = modelOf(Math.max(3000, sizeOf()))
    const bytes = Buffer.concat(model.chunks)
    const metadata = {
      method: 'model_store.model.put',
      data: JSON.stringify({
        model_store_ddc: STORE,
        model_kind: 'k',
        model_description: 'd',
        model_meta: {},
      }),
      sha256: model.sha256,
    }
    const pairs = Object.entries(metadata).map(
      ([name, value]) => `${name} ${Buffer.from(value).toString('base64')}`,
    )
    const created = await tus('POST', UPLOADS, {
      'upload-length': `${bytes.length}`,
      'upload-metadata': pairs.join(','),
    })
    if (created.status !== 201) throw new Error(`upload: ${created.status}`)
    const entry = {
      path: created.headers.get('location'),
      bytes,
      sha256: model.sha256,
      offset: 0,
      modelId: null,
    }
    uploads.push(entry)
    const pieces = 1 + Math.floor(random() * 4)
    for (let i = 0; i < pieces && !isOver; i++) {
      const end = i === pieces - 1 ? bytes.length : Math.ceil((bytes.length * (i + 1)) / pieces)
      await patch(entry, end)
    }
  }

  async function patch(entry, end) {
    const answer = await tus(
      'PATCH',
      entry.path,
      { 'content-type': 'application/offset+octet-stream', 'upload-offset': `${entry.offset}` },
      entry.bytes.subarray(entry.offset, end),
    )
    if (answer.status !== 204 && answer.status !== 200) throw new Error(`patch: ${answer.status}`)
    entry.offset = end
    if (answer.status === 200) noteModel(entry, (await answer.json()).model_id)
  }

  function noteModel(entry, modelId) {
    entry.modelId = modelId
    models.set(modelId, { sha256: entry.sha256, sizeBytes: entry.bytes.length })
  }

  async function deleteModel() {
    const [modelId] = models.keys()
    if (modelId === undefined || models.size < 20) return
    // from here on it may be gone, answered or not
    models.delete(modelId)
    for (const entry of uploads) if (entry.modelId === modelId) entry.isDeleted = true
    await node.rpc(MODELS, 'model_store.model.delete', { model_id: modelId })
    deleted.add(modelId)
  }

  async function openSession() {
    const { access_token } = await node.rpc(SESSION, 'session.open_session', { expires_in: 86_400 })
    sessions.push(access_token)
  }

  async function tus(method, path, headers, body) {
    return await fetch(`${node.url}${path}`, {
      method,
      headers: { ...node.headers, 'tus-resumable': '1.0.0', ...headers },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(ANSWER_MS),
    })
  }

  async function write() {
    while (!isOver) {
      let at = random() * total
      const [, work] = kinds.find(([weight]) => {
        at -= weight
        return at < 0
      })
      try {
        await work()
        facts.acknowledged++
      } catch (error) {
        if (error.name === 'TimeoutError') silent.push(`${work.name}: no answer in ${ANSWER_MS / 1000} s`)
        facts.unanswered++ // nothing was acknowledged, so nothing is owed
        await sleep(20)
      }
      await sleep(random() * 20)
    }
  }

  /** @param isWhole everything since the beginning, not only since the last check */
  async function check(isWhole) {
    const faults = silent.splice(0)
    await checkRows(faults, isWhole ? 0 : newest.rows)
    await checkSet(faults)
    await checkUploads(faults, isWhole)
    await checkModels(faults, isWhole ? 0 : newest.models)
    const some = isWhole ? sessions : sessions.slice(-5)
    for (const token of some) {
      const { active } = await node.rpc(SESSION, 'session.verify_session_token', { token })
      if (!active) faults.push('an acknowledged session is not active')
    }
    newest = { rows: call, models: models.size }
    return faults
  }

  async function checkRows(faults, from) {
    const { features } = await node.rpc(MAPS, 'mapserv.eventdata', {
      type: 'Feature',
      geometry: null,
      properties: { table: 'mixed', columns: ['call', 'part', 'text'], conds: { '>': ['call', from] } },
    })
    const found = Map.groupBy(features, ({ properties }) => Number(properties.call))
    for (const { properties } of features)
      if (properties.text !== textOf(properties.call, properties.part))
        faults.push(`row ${properties.call}/${properties.part} holds other text`)
    for (const [id, { count, state }] of rows) {
      if (id <= from) continue
      const there = found.get(id)?.length ?? 0
      if (there !== count && (there !== 0 || state === 'acknowledged'))
        faults.push(`call ${id} of ${count} rows, ${state}: found ${there}`)
      if (there === 0) rows.delete(id) // decided: it did not happen, and must not come later
    }
    for (const id of found.keys()) if (!rows.has(id)) faults.push(`rows of call ${id} came later`)
  }

  async function checkSet(faults) {
    for (const [label, entry] of [...cited].slice(-5)) {
      const records = await node.rpc(DATASET, 'dataset.record.get', {
        citation_label: label,
        limit: SET_ROWS + 1,
        offset: 0,
      })
      const found = new Set(records.map(versionOf))
      const [version] = found
      if (records.length !== SET_ROWS || found.size !== 1) {
        if (records.length === 0 && entry.least === 0) continue
        faults.push(`citation ${label}: ${records.length} rows of ${found.size} versions`)
        continue
      }
      if (version < entry.least || version > entry.most)
        faults.push(`citation ${label}: version ${version}, expected ${entry.least} to ${entry.most}`)
      if (entry.version !== undefined && version !== entry.version)
        faults.push(`citation ${label}: version ${version}, read before as ${entry.version}`)
      entry.version = version
    }
  }

  async function checkUploads(faults, isWhole) {
    for (const entry of isWhole ? uploads : uploads.slice(-8)) {
      const head = await tus('HEAD', entry.path)
      if (head.status !== 200) {
        if (entry.modelId === null || !(head.status === 404 || head.status === 410))
          faults.push(`upload ${entry.path}: HEAD ${head.status}`)
        continue
      }
      const offset = Number(head.headers.get('upload-offset'))
      if (offset < entry.offset)
        faults.push(`upload ${entry.path}: at ${offset}, acknowledged ${entry.offset}`)
      entry.offset = offset
      if (offset < entry.bytes.length || entry.isDeleted) continue
      const modelId = head.headers.get('x-model-id') ?? (await registered(entry.sha256))
      if (modelId === null) faults.push(`upload ${entry.path} is complete, but no model has its bytes`)
      else if (!deleted.has(modelId) && entry.modelId === null) noteModel(entry, modelId)
    }
  }

  async function registered(sha256) {
    const found = await node.rpc(MODELS, 'model_store.model.get_info', {
      model_store_ddc: STORE,
      conds: { '=': ['model_sha256', sha256] },
    })
    return found[0]?.model_id ?? null
  }

  async function checkModels(faults, from) {
    if (models.size === 0) return
    const infos = await node.rpc(MODELS, 'model_store.model.get_info', { model_store_ddc: STORE })
    const byId = new Map(infos.map((info) => [info.model_id, info]))
    for (const [modelId, { sha256, sizeBytes }] of models) {
      const info = byId.get(modelId)
      if (info === undefined) faults.push(`acknowledged model ${modelId} is gone`)
      else if (info.model_sha256 !== sha256 || info.model_size !== sizeBytes)
        faults.push(`model ${modelId} has another digest`)
    }
    for (const modelId of deleted) if (byId.has(modelId)) faults.push(`deleted model ${modelId} is back`)
    for (const [modelId, { sha256 }] of [...models].slice(from)) {
      const file = await tus('GET', `/api/v2/model_store/models/${modelId}/file`)
      const bytes = Buffer.from(await file.arrayBuffer())
      if (file.status !== 200 || createHash('sha256').update(bytes).digest('hex') !== sha256)
        faults.push(`model ${modelId}: ${file.status}, ${bytes.length} other bytes`)
    }
  }

  return {
    async prepare() {
      const columns = { call: { udt_name: 'int4' }, part: { udt_name: 'int4' }, text: { udt_name: 'text' } }
      await prepareTables(node, {
        table: ['mixed', columns, ['call', 'part']],
        dataset: ['mixed_set', { id: 'bigint', version: 'bigint' }, ['id']],
      })
    },
    run() {
      isOver = false
      running = Array.from({ length: writers }, write)
    },
    async stop() {
      isOver = true
      await Promise.all(running)
    },
    check,
    facts: () => ({
      ...facts,
      addCalls: rows.size,
      setVersions: versions.acknowledged,
      citations: cited.size,
      models: models.size,
      deletedModels: deleted.size,
      uploads: uploads.length,
      sessions: sessions.length,
    }),
  }
}

function recordOf(id, part) {
  return {
    type: 'Feature',
    geometry: { type: 'Point', coordinates: [139 + part / 1000, 35] },
    properties: {
      start_datetime: '2026-01-01 00:00:00Z',
      end_datetime: '2026-01-01 01:00:00Z',
      call: id,
      part,
      text: textOf(id, part),
    },
  }
}

function textOf(id, part) {
  return `${id}/${part} `.repeat(1 + ((id * 7 + part) % 40))
}

/** A record as an array of values or as an object by column. */
function versionOf(row) {
  return Number(Array.isArray(row) ? row[1] : row.version)
}
