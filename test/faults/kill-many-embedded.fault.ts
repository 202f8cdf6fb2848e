import { killMany } from './kill-many.ts'

killMany('sqlite')
