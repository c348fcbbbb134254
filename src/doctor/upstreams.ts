import path from 'node:path'
import { messageOf } from '../errors.js'
import { createKeyring, type Keyring, readKeyFile } from '../storage/keyring.js'
import type { StoredUpstream } from '../storage/maintenance.js'
import { baseUrlOf } from '../sync/endpoint.js'
import { createUpstreamClient } from '../sync/http-client.js'
import { discover } from '../sync/peer.js'
import { type CheckContext, error, type Finding, isoTime, ok, warning } from './finding.js'

/** Waiting time of a transfer from which it is a warning: one day. */
const LONG_US = 24 * 3_600_000_000
/** Time limit of one request to an upstream. */
const PROBE_MS = 10_000

/** Checks transfers that failed or have waited for long, and calls each upstream with its key. */
export async function checkUpstreams(context: CheckContext): Promise<Finding[]> {
  const { layout, maintenance, nowUs } = context
  const upstreams = await maintenance.facts.upstreams(layout.root, readKeyring(layout.keyFile))
  if (upstreams.length === 0) return [ok('no model store has an upstream')]
  const findings: Finding[] = []
  for (const upstream of upstreams) {
    findings.push(...checkTransfers(upstream, nowUs))
    if (upstream.isEnabled) findings.push(await checkConnection(upstream, context))
    else findings.push(ok(`${upstream.endpoint} is disabled`))
  }
  return findings
}

/** Reads the key file; never creates one. @returns undefined when it is missing or unreadable */
function readKeyring(keyFile: string): Keyring | undefined {
  try {
    const key = readKeyFile(keyFile)
    return key === undefined ? undefined : createKeyring(key)
  } catch {
    return undefined // without the key no secret can be decrypted, which the finding of each upstream says
  }
}

function checkTransfers(upstream: StoredUpstream, nowUs: number): Finding[] {
  const { endpoint, failed, waiting, oldestWaitingUs, lastError } = upstream
  const findings: Finding[] = []
  const cause = lastError === null ? '' : `; last error: ${lastError}`
  if (failed > 0)
    findings.push(
      warning(
        `${failed} transfers to ${endpoint} failed and are not retried${cause}`,
        'fix the cause, then run `fieldgate sync retry <transfer>`, or `fieldgate sync cancel <transfer>`',
      ),
    )
  if (oldestWaitingUs !== null && nowUs - oldestWaitingUs > LONG_US)
    findings.push(
      warning(
        `${waiting} transfers to ${endpoint} are waiting, the oldest since ${isoTime(oldestWaitingUs)}${cause}`,
        'check the network, sync.windows and `fieldgate sync status`',
      ),
    )
  return findings
}

async function checkConnection(upstream: StoredUpstream, context: CheckContext): Promise<Finding> {
  const { endpoint, apikey, secret, waiting } = upstream
  const { config, layout, isOnline, version } = context
  if (secret === undefined)
    return error(
      `the secret for ${endpoint} cannot be decrypted with ${layout.keyFile}`,
      'copy secret.key from the backup it belongs to, or set the secret again with fl.update_upstream_info',
    )
  if (!isOnline) return ok(`${endpoint}: ${waiting} transfers waiting (not called: --offline)`)
  const { sync } = config
  try {
    const client = createUpstreamClient(
      baseUrlOf(endpoint, sync.allowInsecure),
      { apikey, secret },
      {
        idleTimeoutMs: PROBE_MS,
        connectTimeoutMs: PROBE_MS,
        maxReplyBytes: sync.replyBytes,
        allowPrivate: sync.allowPrivate,
        allowLoopback: sync.allowLoopback,
        caFile: sync.caFile === undefined ? undefined : path.resolve(sync.caFile),
        userAgent: `fieldgate/${version}`,
      },
    )
    try {
      const { isPeer } = await discover(client, AbortSignal.timeout(PROBE_MS))
      return ok(`${endpoint} answers${isPeer ? ' as a gateway' : ''}; ${waiting} transfers waiting`)
    } finally {
      await client.close()
    }
  } catch (thrown) {
    return warning(
      `${endpoint} does not answer as expected: ${messageOf(thrown)}`,
      'check the network, the address, the key and the clock; waiting transfers are kept and sent when it answers',
    )
  }
}
