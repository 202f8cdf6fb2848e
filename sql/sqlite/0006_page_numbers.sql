-- The number of a page in its group: see the same on PostgreSQL.
alter table pages add column page_number integer;
