import { accessSync, constants } from 'node:fs'
import type { BusSettings } from '../config/modbus.js'
import { messageOf } from '../errors.js'
import type { StoredBus } from '../storage/maintenance.js'
import { type CheckContext, error, type Finding, ok, warning } from './finding.js'

/** Time in which rejects are counted, µs: a day; and their number from which it is a warning. */
const RECENT_US = 24 * 3_600_000_000
const MANY_REJECTS = 100

/** Checks the serial lines that the settings of Modbus buses name, which devices do not answer, and what was lost. */
export async function checkModbus({ config, layout, maintenance, nowUs }: CheckContext): Promise<Finding[]> {
  const { buses } = config.ingest.modbus
  if (buses.length === 0) return [ok('the settings name no Modbus bus')]
  const stored = await maintenance.facts.buses(layout.root, nowUs - RECENT_US)
  const byName = new Map(stored.map((bus) => [bus.name, bus]))
  const findings = buses.flatMap((bus) => [...checkLine(bus), ...checkStatus(byName.get(bus.name))])
  return findings.length > 0 ? findings : [ok(`${buses.length} Modbus buses`)]
}

function checkLine({ name, url }: BusSettings): Finding[] {
  if (!url.startsWith('rtu:///')) return []
  try {
    accessSync(url.slice('rtu://'.length), constants.R_OK | constants.W_OK)
    return []
  } catch (thrown) {
    const advice =
      'plug the adapter in, correct the url, or let the user of the gateway into the group of the device'
    return [error(`the serial line of the bus ${name} cannot be used: ${messageOf(thrown)}`, advice)]
  }
}

/** @param stored undefined for a bus with which no gateway has run yet */
function checkStatus(stored: StoredBus | undefined): Finding[] {
  if (stored === undefined) return []
  const { name, status, recentRejects, lastReason } = stored
  const findings = [...status.faults, ...status.warnings].map((text) =>
    warning(`the bus ${name}: ${text}`, 'see `fieldgate ingest status` and docs/modbus.md'),
  )
  if (recentRejects >= MANY_REJECTS)
    findings.push(
      warning(
        `${recentRejects} readings or more of the bus ${name} were rejected within a day, the last one because: ${lastReason ?? ''}`,
        'see `fieldgate ingest rejects`, and correct the registers or the table',
      ),
    )
  return findings
}
