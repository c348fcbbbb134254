import { accessSync, constants } from 'node:fs'
import type { BrokerSettings } from '../config/ingest.js'
import { messageOf } from '../errors.js'
import type { StoredBroker } from '../storage/maintenance.js'
import { checkCertificate } from './certificate.js'
import { type CheckContext, error, type Finding, isoTime, ok, warning } from './finding.js'

/** Time without a connection from which it is a warning, µs: an hour. */
const LONG_US = 3_600_000_000
/** Time in which rejects are counted, µs: a day; and their number from which it is a warning. */
const RECENT_US = 24 * 3_600_000_000
const MANY_REJECTS = 100

/** Checks the files that the settings of brokers name, how long brokers are away, and what was rejected of late. */
export async function checkIngest({ config, layout, maintenance, nowUs }: CheckContext): Promise<Finding[]> {
  const { brokers } = config.ingest.mqtt
  if (brokers.length === 0) return [ok('the settings name no MQTT broker')]
  const stored = await maintenance.facts.brokers(layout.root, nowUs - RECENT_US)
  const byName = new Map(stored.map((broker) => [broker.name, broker]))
  const findings = brokers.flatMap((broker) => [
    ...checkFiles(broker, nowUs),
    ...checkStatus(broker.name, byName.get(broker.name)),
  ])
  return findings.length > 0 ? findings : [ok(`${brokers.length} MQTT brokers`)]
}

/** The gateway reads them at each attempt to connect. */
function checkFiles(broker: BrokerSettings, nowUs: number): Finding[] {
  const { name, caFile, certFile, keyFile, passwordFile } = broker
  const options = (setting: string) => ({
    nowUs,
    renew: `replace it; the gateway reads it when it connects to ${name} again`,
    correct: `correct ${setting} of the broker ${name}`,
  })
  const unreadable = Object.entries({ keyFile, passwordFile }).flatMap(([setting, file]) => {
    const fault = file === undefined ? null : readFault(file)
    if (fault === null) return []
    return [error(`${setting} of the broker ${name} cannot be read: ${fault}`, options(setting).correct)]
  })
  return [
    ...(caFile === undefined ? [] : checkCertificate(caFile, { ...options('caFile'), isAnyEnough: true })),
    ...(certFile === undefined ? [] : checkCertificate(certFile, options('certFile'))),
    ...unreadable,
  ]
}

function readFault(file: string): string | null {
  try {
    accessSync(file, constants.R_OK)
    return null
  } catch (thrown) {
    return messageOf(thrown)
  }
}

function checkStatus(name: string, stored: StoredBroker | undefined): Finding[] {
  if (stored === undefined || stored.status === null) return [] // the gateway has not run with it yet
  const { status, notedAtUs, recentRejects, lastReason } = stored
  const findings = status.faults.map((fault) =>
    warning(`the broker ${name}: ${fault}`, 'mend the cause; messages wait at the broker until then'),
  )
  // a gateway that is off notes nothing: what counts is how long it tried
  if (!status.isConnected && (notedAtUs ?? 0) - status.sinceUs > LONG_US)
    findings.push(
      warning(
        `the broker ${name} has not been connected since ${isoTime(status.sinceUs)}: ${status.lastError ?? 'no reason is noted'}`,
        'see whether it runs and can be reached; `fieldgate ingest status` shows the last attempt',
      ),
    )
  if (recentRejects >= MANY_REJECTS)
    findings.push(
      warning(
        `${recentRejects} messages or more of the broker ${name} were rejected within a day, the last one because: ${lastReason ?? ''}`,
        'see `fieldgate ingest rejects`, and correct the map or the sender',
      ),
    )
  return findings
}
