import t from 'tap'
import { CROSSINGS, startInTown } from '../support/limits/crossings.js'

// limits that need a gateway of their own; `limits.test.ts` crosses the others
for (const [setting, { settings, cross }] of Object.entries(CROSSINGS)) {
  if (settings === undefined) continue
  t.test(setting, async (t) => await cross(t, await startInTown(t, settings)))
}
