import { type CheckContext, type Finding, ok, warning } from './finding.js'

const DAY_US = 86_400_000_000
/** Time after which an old row should be gone at the latest, days. */
const LATE_DAYS = 1

/** Checks whether old rows have gone as the rules of their tables say. */
export async function checkRetention({ layout, maintenance, nowUs }: CheckContext): Promise<Finding[]> {
  const rules = await maintenance.facts.retention(layout.root)
  const late = rules.flatMap(({ dataName, ageDays, oldestUs, dropsUnsent }): Finding[] => {
    if (ageDays === null || oldestUs === null) return []
    const days = (nowUs - oldestUs) / DAY_US
    if (days < ageDays + LATE_DAYS) return []
    const found = `rows of ${dataName} are up to ${Math.floor(days)} days old, they should go after ${ageDays}`
    return [warning(found, dropsUnsent ? WHY_OFF : WHY_UNSENT)]
  })
  if (late.length > 0) return late
  if (rules.length === 0) return [ok('no table has a rule by which rows go')]
  return [ok(`old rows of ${rules.length} tables have gone as their rules say`)]
}

const WHY_OFF = 'start the gateway: rows go while it runs and its clock is trusted'
const WHY_UNSENT = `${WHY_OFF}; rows that a feed has not sent stay, see loaderwebapi.list_retention`
