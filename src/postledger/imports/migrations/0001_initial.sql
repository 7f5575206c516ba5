SELECT close_tables('imports');
