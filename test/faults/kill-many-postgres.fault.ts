import { killMany } from './kill-many.ts'

killMany('postgres')
