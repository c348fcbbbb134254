import path from 'node:path'
import { messageOf } from '../errors.js'
import { createKeyring, readKeyFile } from '../storage/keyring.js'
import { openPlain } from '../storage/sqlite/connection/snapshot.js'
import { UPSTREAM_SECRET_CONTEXT } from '../storage/upstreams.js'
import { baseUrlOf } from '../sync/endpoint.js'
import { createUpstreamClient } from '../sync/http-client.js'
import { discover } from '../sync/peer.js'
import { error, type Finding, isoTime, ok, type Patient, warning } from './finding.js'

interface Row {
  upstream_id: number
  endpoint: string
  apikey: string
  secret: Buffer
  enabled: number
  waiting: number
  failed: number
  oldest_us: number | null
  last_error: string | null
}

const SQL = `SELECT u.upstream_id, u.endpoint, u.apikey, u.secret, u.enabled,
  count(t.transfer_id) FILTER (WHERE t.state IN ('queued', 'sending')) AS waiting,
  count(t.transfer_id) FILTER (WHERE t.state = 'failed') AS failed,
  min(t.created_at_us) FILTER (WHERE t.state IN ('queued', 'sending')) AS oldest_us,
  max(t.last_error) FILTER (WHERE t.state IN ('queued', 'failed')) AS last_error
  FROM upstream u LEFT JOIN transfer t USING (upstream_id) GROUP BY u.upstream_id ORDER BY u.upstream_id`

const LONG_US = 24 * 3_600_000_000
const PROBE_MS = 10_000

/** Whether what waits moves, and whether each upstream answers and takes the key. */
export async function checkUpstreams(patient: Patient): Promise<Finding[]> {
  const rows = readRows(patient.layout.stateDb)
  if (rows.length === 0) return [ok('no model store has an upstream')]
  const findings: Finding[] = []
  for (const row of rows) {
    findings.push(...lookAtQueue(row, patient.nowUs))
    if (row.enabled === 1) findings.push(await lookAtPeer(row, patient))
    else findings.push(ok(`${row.endpoint} is switched off`))
  }
  return findings
}

function readRows(stateDb: string): Row[] {
  const db = openPlain(stateDb, true)
  try {
    return db.prepare<[], Row>(SQL).all()
  } finally {
    db.close()
  }
}

function lookAtQueue(row: Row, nowUs: number): Finding[] {
  const findings: Finding[] = []
  const why = row.last_error === null ? '' : `; last error: ${row.last_error}`
  if (row.failed > 0)
    findings.push(
      warning(
        `${row.failed} transfers to ${row.endpoint} failed for good${why}`,
        'mend what the error says, then `fieldgate sync retry <transfer>`, or `fieldgate sync cancel <transfer>`',
      ),
    )
  if (row.oldest_us !== null && nowUs - row.oldest_us > LONG_US)
    findings.push(
      warning(
        `${row.waiting} transfers wait for ${row.endpoint}, the oldest since ${isoTime(row.oldest_us)}${why}`,
        'look at the link, at sync.windows and at `fieldgate sync status`',
      ),
    )
  return findings
}

async function lookAtPeer(row: Row, { config, layout, isOnline, version }: Patient): Promise<Finding> {
  const secret = readSecret(row.secret, layout.keyFile)
  if (secret === undefined)
    return error(
      `the secret for ${row.endpoint} cannot be read with ${layout.keyFile}`,
      'copy secret.key from the backup it belongs to, or set the secret again with fl.update_upstream_info',
    )
  if (!isOnline) return ok(`${row.endpoint}: ${row.waiting} transfers wait (not called: --offline)`)
  const { sync } = config
  try {
    const client = createUpstreamClient(
      baseUrlOf(row.endpoint, sync.allowInsecure),
      { apikey: row.apikey, secret },
      {
        ...{ idleTimeoutMs: PROBE_MS, connectTimeoutMs: PROBE_MS, maxReplyBytes: sync.replyBytes },
        ...{ allowPrivate: sync.allowPrivate, allowLoopback: sync.allowLoopback },
        caFile: sync.caFile === undefined ? undefined : path.resolve(sync.caFile),
        userAgent: `fieldgate/${version}`,
      },
    )
    try {
      const { isPeer } = await discover(client, AbortSignal.timeout(PROBE_MS))
      return ok(`${row.endpoint} answers${isPeer ? ' as a gateway' : ''}; ${row.waiting} transfers wait`)
    } finally {
      await client.close()
    }
  } catch (thrown) {
    return warning(
      `${row.endpoint} does not answer as it should: ${messageOf(thrown)}`,
      'look at the link, the address, the key and the clock; what waits is kept and sent when it answers',
    )
  }
}

function readSecret(stored: Buffer, keyFile: string): string | undefined {
  try {
    const key = readKeyFile(keyFile) // never made anew here
    return key === undefined ? undefined : createKeyring(key).decrypt(stored, UPSTREAM_SECRET_CONTEXT)
  } catch {
    return undefined // the finding says which, and what to do; the text of the cause is the cipher's
  }
}
