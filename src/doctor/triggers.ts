import { type CheckContext, error, type Finding, isoTime, ok, warning } from './finding.js'

/** Time in which missed starts are told, µs: a week. */
const RECENT_US = 7 * 24 * 3_600_000_000

/** Checks the last run of each trigger of modules, and the starts that were missed of late. */
export async function checkTriggers({ layout, maintenance, nowUs }: CheckContext): Promise<Finding[]> {
  const triggers = await maintenance.facts.triggers(layout.root, nowUs - RECENT_US)
  const used = triggers.filter(({ isEnabled }) => isEnabled)
  if (triggers.length === 0) return [ok('no trigger has been made')]
  const findings = used.flatMap(({ name, last, missed }): Finding[] => [
    ...(last?.state === 'failed'
      ? [error(`the trigger ${name} failed at ${isoTime(last.atUs)}: ${last.message ?? ''}`, HISTORY)]
      : []),
    ...(missed > 0
      ? [
          warning(
            `the trigger ${name} missed ${missed} starts within a week`,
            'see whether the gateway was off then, or its clock was set',
          ),
        ]
      : []),
  ])
  if (findings.length > 0) return findings
  return [ok(`${used.length} of ${triggers.length} triggers are enabled, and none has failed`)]
}

const HISTORY = 'see its runs with dataproc.list_trigger_runs, or on the page Modules of the console'
