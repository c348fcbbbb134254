import t from 'tap'
import { conformCatalog } from '../../../support/conformance/tables/catalog.js'
import { conformChanges } from '../../../support/conformance/tables/changes.js'
import { conformConditions } from '../../../support/conformance/tables/conditions.js'
import { conformDays } from '../../../support/conformance/tables/days.js'
import { conformFeatures } from '../../../support/conformance/tables/features.js'
import { conformFiles } from '../../../support/conformance/tables/files.js'
import { conformPut } from '../../../support/conformance/tables/put.js'
import { conformReading } from '../../../support/conformance/tables/reading.js'
import { conformValues } from '../../../support/conformance/tables/values.js'
import { openSqliteTables } from '../../../support/conformance/tables/world.js'

t.test('catalogue on SQLite', (t) => conformCatalog(t, openSqliteTables))
t.test('puts on SQLite', (t) => conformPut(t, openSqliteTables))
t.test('files on SQLite', (t) => conformFiles(t, openSqliteTables))
t.test('values on SQLite', (t) => conformValues(t, openSqliteTables, 60))
t.test('conditions on SQLite', (t) => conformConditions(t, openSqliteTables))
t.test('reading on SQLite', (t) => conformReading(t, openSqliteTables, 150))
t.test('changes on SQLite', (t) => conformChanges(t, openSqliteTables))
t.test('rows of days on SQLite', (t) => conformDays(t, openSqliteTables))
t.test('features on SQLite', (t) => conformFeatures(t, openSqliteTables))
